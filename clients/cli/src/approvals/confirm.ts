import type { Approval } from "@airlock/client";
import { UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { ask } from "../terminal/ask.ts";
import { renderCard, renderInput } from "./card.ts";

export interface Assent {
  /** Whatever it is. */
  readonly yes: boolean;
  /** The hash of what the caller has seen elsewhere. */
  readonly hash: string | undefined;
  readonly question: string;
  readonly editedInput?: unknown;
}

/** Nobody decides about what they have not seen: a person is shown it, a program names its hash or says --yes. */
export async function confirm(context: Context, approval: Approval, assent: Assent): Promise<boolean> {
  if (assent.hash !== undefined && assent.hash !== approval.inputHash) {
    throw new UsageError(`the approval is about ${approval.inputHash}, not about ${assent.hash}: look at it again`);
  }
  if (assent.yes || assent.hash !== undefined) return true;
  if (!context.stdin.isTTY) {
    throw new UsageError("without a terminal to show the call on, give --hash (of what you have seen) or --yes");
  }
  context.print.note(renderCard(context.print, approval));
  if (assent.editedInput !== undefined) {
    context.print.note(["  runs instead with", ...renderInput(context.print, assent.editedInput)].join("\n"));
  }
  const answer = await ask(`${assent.question} [y/N] `, { input: context.stdin });
  return /^y(es)?$/i.test(answer ?? "");
}
