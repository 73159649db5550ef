import { createHash } from "node:crypto";
import {
  audit,
  beginPolicyChange,
  type Caller,
  type Database,
  deleteFunction,
  type FunctionRow,
  isPublished,
  listFunctionsOf,
  putFunction,
  retryDeadlocks,
  supersede,
} from "@airlock/shared/db";
import { answerSchemaFault, ApiError, canonicalJson, type Language, toolPathFault } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { announceRejudged } from "./approvals/rejudge.ts";
import { chooseEnvironments } from "./environments/choose.ts";
import { Faults } from "./faults.ts";
import { notFound } from "./not-found.ts";
import { unstorable } from "./texts.ts";
import { validateSubmission } from "./validate-submission.ts";

export interface FunctionInput {
  readonly path: string;
  readonly description: string;
  readonly inputSchema?: unknown;
  readonly code: string;
  readonly language?: Language | null | undefined;
  readonly environment?: string | null | undefined;
  readonly mode?: "AUTO" | "REQUIRED" | "DENY" | null | undefined;
  readonly timeoutMs?: number | null | undefined;
}

const BOUNDS = { aProject: 500, descriptionChars: 4_096, schemaBytes: 64 * 1024, timeoutMs: 10 * 60_000 } as const;
const DEFAULT_TIMEOUT_MS = 30_000;

/** By path. */
export async function listFunctions(app: App, caller: Caller): Promise<FunctionRow[]> {
  const [own] = await listFunctionsOf(app.db, [caller.projectId]);
  return own ?? [];
}

/** Stores a function under its path: putting it again replaces it, and calls that wait are asked about anew. */
export async function setFunction(app: App, caller: Caller, given: FunctionInput): Promise<FunctionRow> {
  const checked = await check(app, caller, given);
  const { projectId, keyName } = caller;
  return change(app, caller, "function.set", async (tx) => {
    const own = (await listFunctionsOf(tx, [projectId]))[0] ?? [];
    const before = own.find(({ path }) => path === checked.path) ?? null;
    if (before === null && own.length >= BOUNDS.aProject) {
      throw new ApiError("QUOTA_EXCEEDED", `the project has ${BOUNDS.aProject} functions; remove one first`);
    }
    const row = await putFunction(tx, { ...checked, project_id: projectId, created_by: keyName });
    return { row, changed: before !== null && before.version !== row.version };
  });
}

export async function removeFunction(app: App, caller: Caller, path: string): Promise<boolean> {
  if (unstorable(path) !== null) throw notFound("function");
  await change(app, caller, "function.removed", async (tx) => {
    const row = await deleteFunction(tx, caller.projectId, path);
    if (row === null) throw notFound("function");
    return { row, changed: true };
  });
  return true;
}

type Checked = Omit<FunctionRow, "project_id" | "created_by" | "changed_at">;

async function check(app: App, caller: Caller, given: FunctionInput): Promise<Checked> {
  const faults = new Faults();
  const { path, description, inputSchema, timeoutMs, mode } = given;
  const fault = toolPathFault(path);
  if (fault !== null) faults.add("path", fault);
  else if (await isPublished(app.db, path)) faults.add("path", `${path} is a tool of the workers already`, "CONFLICT");
  checkDescription(description, faults);
  checkSchema(inputSchema, faults);
  if (mode === "DENY") faults.add("mode", "is AUTO or REQUIRED; a policy denies");
  if (typeof timeoutMs === "number" && timeoutMs > BOUNDS.timeoutMs) {
    faults.add("timeoutMs", `is ${timeoutMs}; a function has at most ${BOUNDS.timeoutMs}`);
  }
  const { code, language, environment } = given;
  const choice = await chooseEnvironments(app, caller.projectId, [{ environment }]);
  const program = validateSubmission({ code, language, environment, timeoutMs }, choice, "", faults);
  faults.throwIfAny();
  const decisive = {
    inputSchema,
    code,
    language: program.language,
    environment: program.environment,
  };
  return {
    path,
    description,
    input_schema: JSON.stringify(inputSchema),
    code,
    language: program.language,
    environment: program.environment,
    mode: mode === "REQUIRED" ? "REQUIRED" : "AUTO",
    timeout_ms: timeoutMs ?? DEFAULT_TIMEOUT_MS,
    version: createHash("sha256").update(canonicalJson(decisive)).digest("hex").slice(0, 16),
  };
}

function checkDescription(description: string, faults: Faults): void {
  const { descriptionChars } = BOUNDS;
  const fault = unstorable(description);
  if (fault !== null) faults.add("description", fault);
  if (description.trim() === "") faults.add("description", "is empty; say what the function does");
  if (description.length > descriptionChars) faults.add("description", `has more than ${descriptionChars} characters`);
}

function checkSchema(schema: unknown, faults: Faults): void {
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  if (!isObject || (schema as { type?: unknown }).type !== "object") {
    return faults.add("inputSchema", 'must be a JSON Schema with "type": "object": a tool\'s input is an object');
  }
  if (Buffer.byteLength(JSON.stringify(schema)) > BOUNDS.schemaBytes) {
    return faults.add("inputSchema", `has more than ${BOUNDS.schemaBytes} bytes`, "TOO_LARGE");
  }
  const fault = answerSchemaFault(schema);
  if (fault !== null) faults.add("inputSchema", fault);
}

/** The change, its trace and what it does to calls that wait are one. */
async function change(
  app: App,
  caller: Caller,
  action: string,
  act: (tx: Database) => Promise<{ row: FunctionRow; changed: boolean }>,
): Promise<FunctionRow> {
  const { projectId, keyId } = caller;
  const { row, superseded } = await retryDeadlocks(() =>
    app.db.transaction().execute(async (tx) => {
      await beginPolicyChange(tx, projectId);
      const { row, changed } = await act(tx);
      const superseded = changed ? await supersede(tx, projectId, row.path) : [];
      const { path, version, language, environment, mode } = row;
      const data = { version, language, environment, mode };
      await audit(tx, { projectId, actor: `key:${keyId}`, action, subject: path, data });
      return { row, superseded };
    }),
  );
  announceRejudged(app.announcer, projectId, superseded);
  return row;
}
