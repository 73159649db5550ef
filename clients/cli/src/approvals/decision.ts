import type { Approval, Client, DecideApprovalInput } from "@airlock/client";
import type { Context } from "../context.ts";
import { statusWord } from "../terminal/words.ts";

export type Extras = Pick<DecideApprovalInput, "reason" | "editedInput" | "remember" | "rememberAnyInput">;

/** Decides about what was shown: the hash goes along, and the gateway refuses where the input is another one. */
export function decide(
  client: Client,
  { id, inputHash }: Approval,
  decision: DecideApprovalInput["decision"],
  extras: Extras = {},
): Promise<Approval> {
  return client.approvals.decide({ id, inputHash, decision, ...extras });
}

export function tellDecided({ print }: Context, approval: Approval, json: boolean): void {
  if (json) return print.json(approval);
  print.line(
    `${statusWord(print, approval.status)} ${approval.id} ${print.quote(approval.toolCall?.path ?? approval.kind)}`,
  );
}
