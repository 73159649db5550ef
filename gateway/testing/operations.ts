/** The operations that most tests send. */
export const SUBMIT = "mutation ($input: SubmitTaskInput!) { submitTask(input: $input) { id status } }";
export const SUBMIT_BATCH =
  "mutation ($input: SubmitBatchInput!) { submitBatch(input: $input) { id total done counts { queued cancelled } } }";
export const TASK = "query ($id: ID!) { task(id: $id) { id status code input labels createdAt } }";

export interface Submitted {
  readonly submitTask: { readonly id: string; readonly status: string };
}

export const DECIDE =
  "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id status decidedBy decidedAt reason editedInput inputHash task { id status } } }";
export const DECIDE_MANY = `mutation ($inputs: [DecideApprovalInput!], $filter: ApprovalFilter, $decision: Decision, $reason: String) {
  decideApprovals(inputs: $inputs, filter: $filter, decision: $decision, reason: $reason) { id errorCode message approval { id status decidedBy reason } } }`;
export const ANSWER =
  "mutation ($approvalId: ID!, $answer: JSON!) { answerQuestion(approvalId: $approvalId, answer: $answer) { id status decidedBy answer } }";
export const SET_POLICY = `mutation ($pattern: String!, $mode: PolicyMode!, $expiresAt: DateTime, $approvalMs: Int) {
  setToolPolicy(pattern: $pattern, mode: $mode, expiresAt: $expiresAt, approvalMs: $approvalMs) { id pattern mode scope expiresAt approvalMs createdBy } }`;
export const FORK =
  "mutation ($id: ID!, $decisions: [DecideApprovalInput!]) { forkTask(id: $id, decisions: $decisions) { id status forkOf { id } approvals { id status } } }";
export const CANCEL = "mutation ($id: ID!) { cancelTask(id: $id) { status } }";
