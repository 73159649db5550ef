import type { Database, ToolMode } from "@airlock/shared/db";
import type { PolicyMode } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import type { z } from "zod";

/** What a tool is given besides its input. */
export interface ToolContext {
  readonly projectId: string;
  readonly taskId: string;
  readonly session: string | null;
  readonly callIndex: number;
  /** The same for every run of the same call: hand it to services that know such keys. */
  readonly idempotencyKey: string;
  /** Aborted when the call's time is up or its task is cancelled. */
  readonly signal: AbortSignal;
  /** Credentials stay on this side; never put one into an answer. */
  readonly secrets: { get(name: string): string | undefined };
  readonly log: Logger;
  /** For a transactional tool: the journal's own transaction, and the only thing that it may touch. */
  readonly db: Database;
}

/** A call that waits instead of running: for a person's answer, or for time to pass. */
export type Parking = { readonly kind: "question" } | { readonly kind: "timer"; readonly ms: number };

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool as the desk uses it. Made by `defineTool` alone, which has checked and completed it. */
export interface Tool {
  readonly path: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** As a caller writes it: what has a default is optional. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  /** Changes with the schemas, and only with them. */
  readonly version: string;
  readonly mode: ToolMode;
  /** What the tool itself asks for with this input; policies stand above it. */
  modeOf(input: unknown): PolicyMode;
  /** A call that was started and not completed may be run again. True for every transactional tool. */
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  readonly approvalMs: number;
  readonly answersWithArtifact: boolean;
  /** Runs inside the journal's own transaction: its effect and its journal row are one. */
  readonly transactional: boolean;
  /** Null: this input runs. */
  parks(input: unknown): Parking | null;
  /** The answer has been checked against the tool's own output schema. */
  run(context: ToolContext, input: unknown): Promise<unknown>;
}
