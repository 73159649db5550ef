import { type Approval, ApiError, type Client } from "@airlock/client";
import { tellDecided } from "../approvals/decision.ts";
import { createInbox, type Inbox } from "../approvals/inbox.ts";
import { renderCard } from "../approvals/card.ts";
import { type Outcome, type Prompt, promptFor } from "../approvals/prompt.ts";
import { defineCommand } from "../command.ts";
import type { Context } from "../context.ts";
import { statusWord } from "../terminal/words.ts";

export const approvalsWatch = defineCommand({
  name: "approvals watch",
  summary: "Shows approvals as they come, and on a terminal asks for decisions.",
  notes: `
On a terminal each one is shown whole and decided at once: approve, deny, edit, skip. Characters that do not show are
marked like <U+202E>. Otherwise, and with --json, every change is a line.`,
  async run(context, { values }) {
    const client = await context.client();
    const { print } = context;
    if (values.json === true || !context.stdin.isTTY || !print.outIsTerminal) {
      for await (const approval of client.approvals.watch()) tellChange(context, approval, values.json === true);
      return 0;
    }
    print.note("Waits for approvals; Ctrl-C leaves.");
    const leaving = new AbortController();
    try {
      await decideAll(context, client, createInbox(client.approvals.watch({ signal: leaving.signal })));
    } finally {
      leaving.abort();
    }
    return 0;
  },
});

/** One after the other, until the person leaves. */
async function decideAll(context: Context, client: Client, inbox: Inbox): Promise<void> {
  for (;;) {
    const approval = await inbox.next();
    inbox.setAside(approval.id);
    context.print.note(`\n${renderCard(context.print, approval)}`);
    const settled = inbox.settled(approval.id);
    const outcome = await decideOrTell({ context, client, approval, settled });
    if (outcome.kind === "left") return;
    if (outcome.kind === "decided") tellDecided(context, outcome.approval, false);
    else if (settled.aborted) tellDecided(context, settled.reason as Approval, false);
  }
}

/** A refusal (somebody was faster, an edited input does not fit) concerns this approval and not the others. */
async function decideOrTell(prompt: Prompt): Promise<Outcome> {
  for (;;) {
    try {
      return await promptFor(prompt);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === "UNAUTHENTICATED") throw error;
      prompt.context.print.note(`${prompt.context.print.quote(error.message)} (${error.code})`);
      if (error.code !== "BAD_INPUT") return { kind: "skipped" };
    }
  }
}

function tellChange({ print }: Context, approval: Approval, json: boolean): void {
  if (json) return print.jsonLine(approval);
  const { id, status, kind, task, toolCall } = approval;
  const input = toolCall === null ? "" : print.quote(JSON.stringify(toolCall.input));
  print.line([statusWord(print, status), id, kind, task.id, print.quote(toolCall?.path ?? "-"), input].join("\t"));
}
