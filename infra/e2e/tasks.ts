import { setTimeout as sleep } from "node:timers/promises";
import type { Api } from "@airlock/shared/testing";

export interface TaskView {
  id: string;
  status: string;
  output: unknown;
  segments: number;
  error: { code: string; message: string; stack: string | null; retryable: boolean } | null;
  events: EventView[];
  toolCalls: CallView[];
  approvals: ApprovalView[];
  isolation: { provider: string; level: string; enforced: Record<string, unknown> } | null;
}

export interface EventView {
  seq: number;
  type: string;
  data: Record<string, unknown>;
}

export interface CallView {
  index: number;
  path: string;
  input: unknown;
  inputHash: string;
  status: string;
  output: unknown;
  error: { code: string; message: string } | null;
  approval: { id: string; status: string; editedInput: unknown } | null;
}

export interface ApprovalView {
  id: string;
  kind: string;
  status: string;
  inputHash: string;
  reason: string | null;
  decidedBy: string | null;
  editedInput: unknown;
  toolCall: { index: number; path: string; input: unknown } | null;
}

const EVENTS = "events(first: 1000, after: $after) { seq type data }";
const FIELDS = `id status output segments error { code message stack retryable } ${EVENTS}
  toolCalls { index path input inputHash status output error { code message } approval { id status editedInput } }
  approvals { id kind status inputHash reason decidedBy editedInput toolCall { index path input } }
  isolation { provider level enforced }`;
const LOOK = `query ($id: ID!, $after: Int) { task(id: $id) { ${FIELDS} } }`;
const MORE_EVENTS = `query ($id: ID!, $after: Int) { task(id: $id) { ${EVENTS} } }`;

const ENDED = new Set(["SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"]);
/** Nothing that a test waits for is silent for longer: the slowest is an approval whose own job was lost, 6 s. */
const STUCK_MS = 30_000;

export async function submit(api: Api, input: Record<string, unknown>): Promise<string> {
  const { submitTask } = await api<{ submitTask: { id: string } }>(
    "mutation ($input: SubmitTaskInput!) { submitTask(input: $input) { id } }",
    { input },
  );
  return submitTask.id;
}

export async function look(api: Api, id: string): Promise<TaskView> {
  const { task } = await api<{ task: TaskView }>(LOOK, { id, after: 0 });
  for (let page = task.events; page.length === 1000;) {
    const more = await api<{ task: TaskView }>(MORE_EVENTS, { id, after: page.at(-1)?.seq });
    page = more.task.events;
    task.events.push(...page);
  }
  return task;
}

/** Waits until the task is as asked. One that has ended otherwise, or that stands still, fails with all that is known. */
export async function until(api: Api, id: string, holds: (task: TaskView) => boolean): Promise<TaskView> {
  let before = "";
  let since = Date.now();
  for (;;) {
    const task = await look(api, id);
    if (holds(task)) return task;
    if (isEnded(task)) throw new Error(`the task ended otherwise than was waited for\n${tell(task)}`);
    const now = progressOf(task);
    if (now !== before) [before, since] = [now, Date.now()];
    else if (Date.now() - since > STUCK_MS) throw new Error(`the task is stuck\n${tell(task)}`);
    await sleep(50);
  }
}

/** A task that is picked up again and again and gets no further is stuck too. */
function progressOf({ events, toolCalls, approvals }: TaskView): string {
  return JSON.stringify([events.filter(({ type }) => type !== "task.resumed").length, toolCalls, approvals]);
}

export interface BatchView {
  id: string;
  done: boolean;
  counts: { queued: number; running: number; parked: number; succeeded: number };
}

/** The same for all tasks of a batch; of those that have not ended the first few are told. */
export async function untilBatch(api: Api, id: string, holds: (batch: BatchView) => boolean): Promise<BatchView> {
  let before = "";
  let since = Date.now();
  for (;;) {
    const { batch } = await api<{ batch: BatchView }>(
      "query ($id: ID!) { batch(id: $id) { id done counts { queued running parked succeeded } } }",
      { id },
    );
    if (holds(batch)) return batch;
    const now = JSON.stringify(batch);
    if (now !== before) [before, since] = [now, Date.now()];
    else if (batch.done || Date.now() - since > STUCK_MS) {
      const views = (await tasksOf(api, id)).filter(({ status }) => status !== "SUCCEEDED").slice(0, 3);
      const told = await Promise.all(views.map(async (task) => tell(await look(api, task.id))));
      throw new Error(`the batch is stuck: ${now}\n${told.join("\n")}`);
    }
    await sleep(100);
  }
}

export interface TaskSummary {
  id: string;
  status: string;
  segments: number;
  input: unknown;
  output: unknown;
}

/** All tasks of a batch, in the order of submission. */
export async function tasksOf(api: Api, batchId: string): Promise<TaskSummary[]> {
  const query = `query ($id: ID!, $after: String) { batch(id: $id) { tasks(first: 100, after: $after) {
    edges { node { id status segments input output } } pageInfo { hasNextPage endCursor } } } }`;
  const tasks: TaskSummary[] = [];
  for (let after: string | null = null, more = true; more;) {
    const { batch }: { batch: { tasks: TaskPage } } = await api(query, { id: batchId, after });
    tasks.push(...batch.tasks.edges.map(({ node }) => node));
    ({ endCursor: after, hasNextPage: more } = batch.tasks.pageInfo);
  }
  return tasks;
}

interface TaskPage {
  edges: { node: TaskSummary }[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

export async function submitBatch(api: Api, tasks: readonly Record<string, unknown>[]): Promise<string> {
  const { submitBatch } = await api<{ submitBatch: { id: string } }>(
    "mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id } }",
    { input: { tasks } },
  );
  return submitBatch.id;
}

export const isEnded = (task: Pick<TaskView, "status">): boolean => ENDED.has(task.status);
export const ended = (api: Api, id: string): Promise<TaskView> => until(api, id, isEnded);

/** Submits and waits for the end. */
export async function run(api: Api, code: string, input: Record<string, unknown> = {}): Promise<TaskView> {
  return ended(api, await submit(api, { code, ...input }));
}

/** Everything that is known of a task, for a person who has to find out what went wrong. */
export function tell(task: TaskView): string {
  const line = (value: unknown): string => `    ${JSON.stringify(value)}`.slice(0, 500);
  return [
    `  task ${task.id}: ${task.status}, ${task.segments} segments, error ${JSON.stringify(task.error)}`,
    "  events:",
    ...task.events.slice(-80).map(({ seq, type, data }) => line([seq, type, data])),
    "  tool calls:",
    ...task.toolCalls.slice(-40).map(line),
    "  approvals:",
    ...task.approvals.slice(-40).map(line),
  ].join("\n");
}

export function printed(task: TaskView): string {
  return task.events
    .filter((event) => event.type === "task.output")
    .map((event) => String(event.data["text"]))
    .join("");
}

export const lines = (task: TaskView): string[] => printed(task).split("\n").slice(0, -1);
export const seqs = (task: TaskView): number[] => task.events.map((event) => event.seq);
export const oneTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
