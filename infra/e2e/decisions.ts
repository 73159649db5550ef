import type { Api } from "@airlock/shared/testing";
import { type ApprovalView, type TaskView, until } from "./tasks.ts";

/** What a person says through the API. */

const APPROVAL = "id kind status inputHash reason decidedBy editedInput toolCall { index path input }";

export type DecideFields = Readonly<Record<string, unknown>>;

export async function decide(
  api: Api,
  approval: Pick<ApprovalView, "id" | "inputHash">,
  decision: "APPROVE" | "DENY",
  more: DecideFields = {},
): Promise<ApprovalView> {
  const { decideApproval } = await api<{ decideApproval: ApprovalView }>(
    `mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { ${APPROVAL} } }`,
    { input: { id: approval.id, inputHash: approval.inputHash, decision, ...more } },
  );
  return decideApproval;
}

export const approve = (api: Api, approval: ApprovalView, more?: DecideFields): Promise<ApprovalView> =>
  decide(api, approval, "APPROVE", more);
export const deny = (api: Api, approval: ApprovalView, more?: DecideFields): Promise<ApprovalView> =>
  decide(api, approval, "DENY", more);

export async function answer(api: Api, approval: ApprovalView, answer: unknown): Promise<ApprovalView> {
  const { answerQuestion } = await api<{ answerQuestion: ApprovalView }>(
    `mutation ($id: ID!, $answer: JSON!) { answerQuestion(approvalId: $id, answer: $answer) { ${APPROVAL} } }`,
    { id: approval.id, answer },
  );
  return answerQuestion;
}

export interface PolicyFields {
  readonly expiresAt?: string;
  readonly approvalMs?: number;
}

export async function setPolicy(api: Api, pattern: string, mode: string, more: PolicyFields = {}): Promise<string> {
  const { setToolPolicy } = await api<{ setToolPolicy: { id: string } }>(
    `mutation ($pattern: String!, $mode: PolicyMode!, $expiresAt: DateTime, $approvalMs: Int) {
      setToolPolicy(pattern: $pattern, mode: $mode, expiresAt: $expiresAt, approvalMs: $approvalMs) { id } }`,
    { pattern, mode, ...more },
  );
  return setToolPolicy.id;
}

export const cancel = (api: Api, id: string): Promise<unknown> =>
  api("mutation ($id: ID!) { cancelTask(id: $id) { status } }", { id });

export const pendingOf = (task: TaskView): ApprovalView[] =>
  task.approvals.filter(({ status }) => status === "PENDING");

/** Waits until the task is parked with this many approvals to decide, in the order in which they were asked for. */
export async function asked(api: Api, taskId: string, count = 1): Promise<ApprovalView[]> {
  const parked = (task: TaskView): boolean => task.status === "PARKED" && pendingOf(task).length === count;
  return pendingOf(await until(api, taskId, parked));
}

/** The only one. */
export async function askedOnce(api: Api, taskId: string): Promise<ApprovalView> {
  const [approval] = await asked(api, taskId);
  if (approval === undefined) throw new Error("no approval is pending");
  return approval;
}
