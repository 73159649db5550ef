import type { Approval, Client } from "@airlock/client";
import type { Context } from "../context.ts";
import { ask } from "../terminal/ask.ts";
import { renderInput } from "./card.ts";
import { decide } from "./decision.ts";
import { editInput } from "./edit.ts";

/** What the person wants with the approval at hand. */
export type Outcome =
  | { readonly kind: "decided"; readonly approval: Approval }
  | { readonly kind: "skipped" }
  | { readonly kind: "left" };

const SKIPPED: Outcome = { kind: "skipped" };

export interface Prompt {
  readonly context: Context;
  readonly client: Client;
  readonly approval: Approval;
  /** Aborts when somebody else has settled it. */
  readonly settled: AbortSignal;
}

/** Asks until there is an answer; one that was settled meanwhile counts as skipped. */
export async function promptFor(prompt: Prompt): Promise<Outcome> {
  const choices = choicesFor(prompt.approval);
  const menu = `${choices.map(({ label }) => label).join("  ")}  [s]kip  [q]uit: `;
  for (;;) {
    const answer = await question(prompt, menu);
    if (prompt.settled.aborted || answer === "s") return SKIPPED;
    if (answer === null || answer === "q") return { kind: "left" };
    const outcome = await choices.find(({ key }) => key === answer)?.act(prompt);
    if (outcome !== undefined && outcome !== null) return outcome;
  }
}

interface Choice {
  readonly key: string;
  readonly label: string;
  /** Null: the person thought better of it. */
  readonly act: (prompt: Prompt) => Promise<Outcome | null>;
}

const APPROVE: Choice = {
  key: "a",
  label: "[a]pprove",
  act: async ({ client, approval }) => decided(await decide(client, approval, "APPROVE")),
};

const DENY: Choice = {
  key: "d",
  label: "[d]eny",
  async act(prompt) {
    const reason = await question(prompt, "Reason (may be empty): ");
    if (reason === null) return null;
    return decided(await decide(prompt.client, prompt.approval, "DENY", { reason: reason === "" ? null : reason }));
  },
};

const EDIT: Choice = {
  key: "e",
  label: "[e]dit",
  async act(prompt) {
    const { context, client, approval } = prompt;
    const edited = await editInput(context.env, approval.toolCall?.input);
    if (typeof edited === "string") {
      context.print.note(`not edited: ${edited}`);
      return null;
    }
    context.print.note(renderInput(context.print, edited.input).join("\n"));
    const sure = await question(prompt, "Approve with this input instead? [y/N] ");
    return sure === "y" ? decided(await decide(client, approval, "APPROVE", { editedInput: edited.input })) : null;
  },
};

const ANSWER: Choice = {
  key: "a",
  label: "[a]nswer",
  async act(prompt) {
    const text = await question(prompt, "Answer (JSON, or plain text): ");
    return text === null ? null : decided(await prompt.client.approvals.answer(prompt.approval.id, jsonOrText(text)));
  },
};

const outcomeChoice = (key: string, label: string, answer: (prompt: Prompt) => Promise<unknown>): Choice => ({
  key,
  label,
  async act(prompt) {
    const given = await answer(prompt);
    return given === null ? null : decided(await prompt.client.approvals.answer(prompt.approval.id, given));
  },
});

const HAPPENED = outcomeChoice("h", "it [h]appened", async (prompt) => {
  const text = await question(prompt, "Its result (JSON, or plain text): ");
  return text === null ? null : { outcome: "happened", result: jsonOrText(text) };
});
const DID_NOT = outcomeChoice("n", "it did [n]ot", () => Promise.resolve({ outcome: "did_not" }));
const FAIL = outcomeChoice("f", "[f]ail the call", () => Promise.resolve({ outcome: "fail" }));

function choicesFor({ kind }: Approval): readonly Choice[] {
  switch (kind) {
    case "TOOL_CALL":
      return [APPROVE, DENY, EDIT];
    case "QUESTION":
      return [ANSWER, DENY];
    case "UNKNOWN_OUTCOME":
      return [HAPPENED, DID_NOT, FAIL];
    case "BUDGET":
    case "EGRESS":
      return [APPROVE, DENY];
  }
}

function question({ context, settled }: Prompt, text: string): Promise<string | null> {
  return ask(text, { input: context.stdin, signal: settled });
}

function decided(approval: Approval): Outcome {
  return { kind: "decided", approval };
}

export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
