import {
  AnswerQuestion,
  type Approval,
  type ApprovalStatus,
  DecideApproval,
  type DecideApprovalInput,
  ListApprovals,
} from "../generated.ts";
import type { RequestOptions } from "../http/request.ts";
import { PAGE, paged } from "../paged.ts";
import type { Transport } from "../transport.ts";
import { watchApprovals } from "./watch.ts";

export interface Approvals {
  /** The newest first; of every status where none is given. */
  list(status?: ApprovalStatus): AsyncIterable<Approval>;
  /**
   * `inputHash` is that of the approval as the person saw it. Not repeated when the answer is lost: the approval may
   * then be decided already.
   */
  decide(input: DecideApprovalInput): Promise<Approval>;
  /** For the kinds QUESTION and UNKNOWN_OUTCOME. */
  answer(id: string, answer: unknown): Promise<Approval>;
  /** Pending ones first, then live; never ends by itself. */
  watch(options?: RequestOptions): AsyncIterable<Approval>;
}

export function createApprovals(transport: Transport): Approvals {
  const { once, patiently } = transport;
  return {
    list: (status) =>
      paged(async (after) => (await patiently(ListApprovals, { status, first: PAGE, after })).approvals),
    decide: async (input) => (await once(DecideApproval, { input })).decideApproval,
    answer: async (id, answer) => (await once(AnswerQuestion, { id, answer })).answerQuestion,
    watch: ({ signal } = {}) => watchApprovals(transport, signal),
  };
}
