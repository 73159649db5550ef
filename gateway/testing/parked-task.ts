import { createHash } from "node:crypto";
import { newEvent, newId } from "@airlock/shared/contracts";
import {
  claimTasks,
  type Database,
  insertTasks,
  type NewTask,
  publishTools,
  registerWorker,
  type SegmentWrite,
  type ToolMode,
  writeSegments,
} from "@airlock/shared/db";
import { type ApprovalKind, canonicalJson, type PolicyMode } from "@airlock/shared/domain";
import { newTask } from "@airlock/shared/testing";

/** A call that a task waits for a person with. */
export interface Ask {
  readonly kind?: ApprovalKind;
  readonly path?: string;
  readonly input?: unknown;
  readonly defaultMode?: PolicyMode;
  /** Negative: its time is up, and nobody has swept yet. */
  readonly expiresInMs?: number;
}

export interface AskedFor {
  readonly id: string;
  readonly inputHash: string;
}

export interface ParkedTask {
  readonly id: string;
  readonly approvals: readonly AskedFor[];
  /** Of the first call. */
  readonly approval: AskedFor;
}

export interface ParkOptions {
  readonly task?: Partial<NewTask>;
  readonly asks?: readonly Ask[];
  /** The segment still runs. */
  readonly running?: boolean;
}

export const MAIL = "mail.send";
export const VERSION = "0000000000000001";
const MAIL_SCHEMA = {
  type: "object",
  properties: { to: { type: "string" }, copies: { type: "integer", default: 1 } },
  required: ["to"],
  additionalProperties: false,
};

/** Tools as a worker publishes them; no worker has them really. */
export async function publishTestTools(
  db: Database,
  modes: Record<string, ToolMode> = { [MAIL]: "REQUIRED", "human.ask": "AUTO" },
): Promise<void> {
  const tools = Object.keys(modes).map((path) => `${path}@${VERSION}`);
  await publishTools(
    db,
    Object.entries(modes).map(([path, mode]) => ({
      path,
      version: VERSION,
      description: `Does ${path}.`,
      inputSchema: JSON.stringify(path === MAIL ? MAIL_SCHEMA : { type: "object" }),
      outputSchema: null,
      mode,
      source: "test",
    })),
  );
  await registerWorker(db, { id: newId(), host: "h", version: "0", capacity: 1, providers: ["isolate"], tools });
}

/** Tasks that wait for a person, written as a worker writes them. */
export async function parkTasks(
  db: Database,
  projectId: string,
  count: number,
  { task = {}, asks = [{}], running = false }: ParkOptions = {},
): Promise<ParkedTask[]> {
  const tasks = Array.from({ length: count }, () => newTask(projectId, task));
  await insertTasks(db, tasks, 0);
  const jobs = tasks.map(({ id }) => ({
    taskId: id,
    job: 1,
    isolation: '{"provider":"isolate","level":"wasm","enforced":{}}',
    image: null,
  }));
  await claimTasks(db, jobs, newId());
  const writes = tasks.map(({ id }) => toWrite(id, asks, running));
  const written = await writeSegments(db, writes);
  if (written.includes(null)) throw new Error("a task could not be parked");
  return writes.map(({ taskId, approvals }) => {
    const asked = approvals.map(({ id, inputHash }) => ({ id, inputHash: inputHash.toString("hex") }));
    return { id: taskId, approvals: asked, approval: asked[0] as AskedFor };
  });
}

export async function parkTask(db: Database, projectId: string, options: ParkOptions = {}): Promise<ParkedTask> {
  const [task] = await parkTasks(db, projectId, 1, options);
  return task as ParkedTask;
}

function toWrite(taskId: string, asks: readonly Ask[], running: boolean): SegmentWrite {
  const parts = asks.map(toCall);
  const calls = JSON.stringify(parts.map((_, index) => [index + 1, index]));
  const kept = { image: Buffer.from("image"), state: Buffer.from("state"), calls };
  return {
    taskId,
    fence: 1,
    events: parts.map(({ approval, call }) =>
      newEvent("approval.requested", { approvalId: approval.id, index: call.index }),
    ),
    outputChars: 0,
    calls: parts.map(({ call }) => call),
    updates: [],
    approvals: parts.map(({ approval }) => approval),
    activeMs: 1,
    end: null,
    parking: running ? null : { wakes: 0, wakeAt: null, waitingFor: "approval", kept },
  };
}

function toCall(ask: Ask, index: number) {
  const {
    kind = "TOOL_CALL",
    path = MAIL,
    input = { to: "a@b" },
    defaultMode = "REQUIRED",
    expiresInMs = 60_000,
  } = ask;
  const inputHash = createHash("sha256")
    .update(canonicalJson({ path, schemaVersion: VERSION, input }))
    .digest();
  const id = newId();
  const shared = { path, version: VERSION, inputHash };
  const nothing = {
    wakeAt: null,
    output: null,
    errorCode: null,
    errorMessage: null,
    startedAt: null,
    finishedAt: null,
  };
  const status = kind === "UNKNOWN_OUTCOME" ? ("UNKNOWN" as const) : ("WAITING" as const);
  return {
    call: {
      ...shared,
      ...nothing,
      index,
      sent: JSON.stringify(input),
      input: null,
      status,
      approvalId: id,
      completion: null,
    },
    approval: { ...shared, id, callIndex: index, kind, defaultMode, editedInput: null, expiresInMs },
  };
}
