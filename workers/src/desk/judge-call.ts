import { createHash } from "node:crypto";
import { canonicalJson, judge, type PolicyMode, type TaskErrorCode } from "@airlock/shared/domain";
import { type PolicyRow, toPolicyRule } from "@airlock/shared/db";
import { parseInput } from "../tools/parse-input.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";
import { failureOf } from "./run-tool.ts";

/** A call as the guest sent it: path and JSON text. */
export interface SentCall {
  readonly path: string;
  readonly sent: string;
}

/** What a path names for a project: a tool of the worker, or one of its own functions. */
export interface FoundTool {
  readonly tool: Tool | undefined;
  readonly registry: ToolRegistry;
}

/** A call that fits a tool. */
export interface CheckedCall {
  readonly tool: Tool;
  readonly value: unknown;
  /** JSON text with defaults; null where nothing was filled in. */
  readonly input: string | null;
  /** SHA-256 of the canonical JSON of path, schema version and input: what an approval is bound to. */
  readonly inputHash: Buffer;
}

export interface Refusal {
  readonly code: TaskErrorCode;
  readonly message: string;
}

/** What no schema has seen still needs a hash in the journal. */
export function hashOf(path: string, schemaVersion: string, input: unknown): Buffer {
  return createHash("sha256").update(canonicalJson({ path, schemaVersion, input })).digest();
}

export function checkCall(found: FoundTool, { path, sent }: SentCall): CheckedCall | Refusal {
  const { tool } = found;
  if (tool === undefined) return { code: "UNKNOWN_TOOL", message: unknownTool(found.registry, path) };
  const given = parseJson(sent);
  if (given === undefined) return { code: "BAD_TOOL_INPUT", message: `${path}: the input is not JSON` };
  const parsed = parseInput(tool, given);
  if (!parsed.ok) return { code: "BAD_TOOL_INPUT", message: `${path}: ${parsed.message}` };
  const text = JSON.stringify(parsed.value);
  const inputHash = hashOf(path, tool.version, parsed.value);
  return { tool, value: parsed.value, input: text === sent ? null : text, inputHash };
}

export interface Judged {
  readonly mode: PolicyMode;
  /** What the tool asks for by itself, below all policies. */
  readonly defaultMode: PolicyMode;
  readonly approvalMs: number;
}

export function judgeCall(
  call: CheckedCall,
  policies: readonly PolicyRow[],
  task: { id: string; session: string | null },
): Judged | Refusal {
  const { tool, value, inputHash } = call;
  const defaultMode = modeOf(tool, value);
  if (typeof defaultMode !== "string") return defaultMode;
  const subject = {
    path: tool.path,
    inputHash: inputHash.toString("hex"),
    taskId: task.id,
    session: task.session,
    now: new Date(),
  };
  const { mode, rule } = judge(policies.map(toPolicyRule), subject, defaultMode);
  const policy = rule === null ? undefined : policies.find((row) => row.id === rule.id);
  return { mode, defaultMode, approvalMs: policy?.approval_ms ?? tool.approvalMs };
}

/** A tool's own policy is its author's code, and may throw. */
function modeOf(tool: Tool, value: unknown): PolicyMode | Refusal {
  try {
    return tool.modeOf(value);
  } catch (error) {
    const { code, message } = failureOf(error);
    return { code, message: `the policy of ${tool.path} failed: ${message}` };
  }
}

export function isRefusal(checked: CheckedCall | Refusal): checked is Refusal {
  return "code" in checked;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Names the tools that were perhaps meant: the same last word, or the same first. */
function unknownTool(registry: ToolRegistry, path: string): string {
  const segments = path.toLowerCase().split(".");
  const near = registry
    .all()
    .map((tool) => tool.path)
    .filter((known) => {
      const other = known.toLowerCase().split(".");
      return other.at(-1) === segments.at(-1) || other[0] === segments[0];
    })
    .slice(0, 5);
  const hint = near.length > 0 ? `; perhaps ${near.join(", ")}` : "; the query `tools` lists what there is";
  return `there is no tool ${JSON.stringify(path.slice(0, 100))}${hint}`;
}
