import type { Approval } from "@airlock/client";
import { listHidden } from "../terminal/hidden-characters.ts";
import type { Printer } from "../terminal/printer.ts";
import { timeWord } from "../terminal/words.ts";

const ABOUT: Readonly<Record<Approval["kind"], string>> = {
  TOOL_CALL: "asks to call",
  QUESTION: "asks a question through",
  BUDGET: "has used up its calls and asks to go on with",
  EGRESS: "asks for a way out through",
  UNKNOWN_OUTCOME: "does not know whether this took effect:",
};

/** All that a person needs to decide: the whole input, with nothing in it that cannot be seen. */
export function renderCard(print: Printer, approval: Approval): string {
  const { task, toolCall, kind } = approval;
  const field = (name: string, value: string): string => `  ${print.style("gray", name.padEnd(8))} ${value}`;
  return [
    print.style("bold", `A task ${ABOUT[kind]} ${print.quote(toolCall?.path ?? "its tools")}`),
    field("approval", approval.id),
    field("task", `${task.id} (${print.quote(task.environment)})`),
    ...(Object.keys(task.labels ?? {}).length === 0 ? [] : [field("labels", print.quote(JSON.stringify(task.labels)))]),
    field("asked", timeWord(print, approval.requestedAt)),
    field("expires", timeWord(print, approval.expiresAt)),
    field("hash", approval.inputHash),
    ...(toolCall === null ? [] : renderInput(print, toolCall.input)),
    // A question about a call that a person has let go on with another input than it was made with.
    ...((approval.editedInput ?? null) === null
      ? []
      : ["  edited before, to:", ...renderInput(print, approval.editedInput)]),
  ].join("\n");
}

/** JSON, indented; line ends inside its texts are escapes, so every line end is ours. */
export function renderInput(print: Printer, input: unknown): string[] {
  const text = JSON.stringify(input, null, 2) ?? "null";
  const hidden = listHidden(text, "\n");
  const warning = `  Marked above, because they do not show: ${hidden.join(", ")}`;
  return [
    ...print.quote(text, "\n").replaceAll(/^/gm, "    ").split("\n"),
    ...(hidden.length === 0 ? [] : [print.style("red", warning)]),
  ];
}
