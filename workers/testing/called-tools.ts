import {
  type ApprovalRow,
  type Database,
  listApprovalsOf,
  listCallsOf,
  type Outcome,
  recoverFromLostWorkers,
  settleApprovals,
  type ToolCallRow,
} from "@airlock/shared/db";
import { sql } from "kysely";
import { afterAll, beforeAll } from "vitest";
import { z } from "zod";
import type { Context } from "../src/context.ts";
import { runSegment } from "../src/runner/run-segment.ts";
import { createIsolateProvider } from "../src/sandboxes/isolate/index.ts";
import type { SandboxProvider } from "../src/sandboxes/port.ts";
import { defineTool } from "../src/tools/define-tool.ts";
import { createRegistry, type ToolRegistry } from "../src/tools/registry.ts";
import type { Tool, ToolContext } from "../src/tools/tool.ts";
import { openTestWorker, type TestWorker } from "./worker.ts";

export interface ToolRun {
  readonly tool: string;
  readonly input: unknown;
  readonly idempotencyKey: string;
}

/** Segments of tasks on a real isolate, with tools whose runs are counted. */
export interface CalledTools {
  readonly worker: TestWorker;
  readonly db: Database;
  /** Every run of a tool of this task, in order. */
  runs(taskId: string): ToolRun[];
  /** Called by each run before it answers. */
  meanwhile: (context: ToolContext, run: ToolRun) => Promise<unknown>;
  /** The tools; with something else in their definitions, which may make them another version. */
  registry(more?: object): ToolRegistry;
  submit(code: string): Promise<string>;
  /** One segment, up to its end; on a worker with these tools, or with another context or sandbox. */
  segment(taskId: string, other?: Partial<Context>, provider?: Partial<SandboxProvider>): Promise<void>;
  /** A worker claims the task and is never heard of again. */
  loseAfterClaim(taskId: string): Promise<void>;
  decide(taskId: string, outcome: Partial<Outcome>): Promise<void>;
  calls(taskId: string): Promise<ToolCallRow[]>;
  /** Those that wait for a person. */
  asked(taskId: string): Promise<ApprovalRow[]>;
}

const AMOUNT = z.strictObject({ amount: z.number(), currency: z.string().default("EUR") });

export function useCalledTools(): CalledTools {
  const provider = createIsolateProvider();
  const ran = new Map<string, ToolRun[]>();
  let worker: TestWorker;
  let image: Buffer | null = null;
  beforeAll(async () => {
    worker = await openTestWorker();
    const probed = await provider.probe();
    if (!probed.available) throw new Error(probed.reason);
    image = probed.image;
  });
  afterAll(async () => {
    await provider.close();
    await worker.close();
  });

  const count = async (context: ToolContext, tool: string, input: unknown): Promise<ToolRun> => {
    const run = { tool, input, idempotencyKey: context.idempotencyKey };
    ran.set(context.taskId, [...(ran.get(context.taskId) ?? []), run]);
    await tools.meanwhile(context, run);
    return run;
  };

  const claim = (taskId: string, by?: string) => release(taskId).then(() => worker.claim(taskId, by, image));
  /** A delay is over. */
  const release = (taskId: string) =>
    sql`update outbox set run_at = null where task_id = ${taskId}`.execute(worker.context.db);

  const tools: CalledTools = {
    get worker() {
      return worker;
    },
    get db() {
      return worker.context.db;
    },
    runs: (taskId) => ran.get(taskId) ?? [],
    meanwhile: async () => undefined,
    registry: (more = {}) => createRegistry(countedTools(count, more).map((tool) => ({ tool, source: "test" }))),
    submit: (code) => worker.submit({ language: "JAVASCRIPT", code }),
    async segment(taskId, other = {}, sandbox = {}) {
      const context: Context = { ...worker.context, tools: tools.registry(), maxSnapshotBytes: 2 ** 24, ...other };
      await runSegment(context, { ...provider, ...sandbox }, await claim(taskId));
    },
    async loseAfterClaim(taskId) {
      const lost = await worker.newWorker();
      await claim(taskId, lost);
      await worker.silence(lost);
      await recoverFromLostWorkers(tools.db, 60_000);
    },
    async decide(taskId, outcome) {
      const [approval] = await tools.asked(taskId);
      if (approval === undefined) throw new Error("nobody was asked");
      const nothing = { inputHash: null, decidedBy: "somebody", reason: null, editedInput: null, answer: null };
      await settleApprovals(tools.db, [{ id: approval.id, status: "APPROVED", ...nothing, ...outcome }], "live");
    },
    calls: async (taskId) => (await listCallsOf(tools.db, [taskId], { after: -1, limit: 100 })).get(taskId) ?? [],
    asked: async (taskId) =>
      ((await listApprovalsOf(tools.db, [taskId])).get(taskId) ?? []).filter(({ status }) => status === "PENDING"),
  };
  return tools;
}

type Count = (context: ToolContext, tool: string, input: unknown) => Promise<ToolRun>;

/** `pay` may not run twice, `set` may; `nap` and `quiz` wait; `dump` answers more than the journal takes. */
function countedTools(count: Count, all: object): Tool[] {
  const one = (name: string, more: object): Tool =>
    defineTool({
      path: `bank.${name}`,
      description: "Counts its runs.",
      input: AMOUNT,
      policy: "required",
      run: async (context, input) => {
        await count(context, name, input);
        return "done";
      },
      ...more,
      ...all,
    });
  return [
    one("pay", {}),
    one("set", { idempotent: true }),
    one("get", { policy: "auto" }),
    one("nap", { idempotent: true, timeoutMs: 50, parks: () => ({ kind: "timer", ms: 3600_000 }) }),
    one("quiz", { parks: () => ({ kind: "question" }) }),
    one("dump", {
      policy: "auto",
      answersWithArtifact: true,
      run: async (context: ToolContext, input: unknown) => {
        await count(context, "dump", input);
        return "x".repeat(2 ** 21);
      },
    }),
  ];
}
