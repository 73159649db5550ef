import { isId } from "@airlock/shared/contracts";
import { type ApprovalRow, type Caller, type Decidable, findAsked } from "@airlock/shared/db";
import { answerFault, ApiError } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { checkReach } from "./check-decision.ts";
import { take } from "./decide.ts";
import { tooLong } from "./decision-input.ts";
import { decisionOf } from "./ready-decision.ts";

export async function answerQuestion(
  app: App,
  caller: Caller,
  given: { approvalId: string; answer?: unknown },
): Promise<ApprovalRow> {
  const row = checkReach(caller, isId(given.approvalId) ? await app.decisions.find(given.approvalId) : null);
  if (row instanceof ApiError) throw row;
  const fault = tooLong("answer", given.answer) ?? (await faultOf(app, row, given.answer));
  if (fault !== null) throw fault;
  const nothing = { reason: null, editedInput: null, policy: null };
  const answer = JSON.stringify(given.answer);
  const about = { answer: given.answer };
  return take(app, row, decisionOf(caller, row, { ...nothing, status: "APPROVED", answer, about }));
}

async function faultOf(app: App, row: Decidable, answer: unknown): Promise<ApiError | null> {
  switch (row.kind) {
    case "UNKNOWN_OUTCOME":
      return outcomeFault(answer);
    case "QUESTION": {
      const fault = await questionFault(app, row, answer);
      return fault === null ? null : new ApiError("BAD_INPUT", `answer: does not fit the question: ${fault}`);
    }
    default:
      return new ApiError("BAD_INPUT", `approvalId: a ${row.kind} is decided with decideApproval; it asks no question`);
  }
}

async function questionFault(app: App, row: Decidable, answer: unknown): Promise<string | null> {
  const asked = (await findAsked(app.db, [row.id])).get(row.id);
  const { schema } = JSON.parse(asked?.input ?? "{}") as { schema?: unknown };
  return schema === undefined || schema === null ? null : answerFault(schema, answer);
}

const ADVICE =
  'answer: must be {"outcome": "happened", "result": …}, {"outcome": "did_not"} or {"outcome": "fail"}, with nothing beside it';

function outcomeFault(answer: unknown): ApiError | null {
  const isObject = answer !== null && typeof answer === "object" && !Array.isArray(answer);
  const { outcome, ...rest } = (isObject ? answer : {}) as Record<string, unknown>;
  const extra = Object.keys(rest).filter((key) => outcome !== "happened" || key !== "result");
  const known = outcome === "happened" || outcome === "did_not" || outcome === "fail";
  return known && extra.length === 0 ? null : new ApiError("BAD_INPUT", ADVICE);
}
