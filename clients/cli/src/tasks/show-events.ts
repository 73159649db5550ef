import type { TaskEvent } from "@airlock/client";
import type { Printer } from "../terminal/printer.ts";
import { eventLine, writtenBy } from "./event-line.ts";

export interface ShowOptions {
  /** Each event as a line of JSON, and nothing else. */
  readonly json: boolean;
  /** Not only what the guest wrote, but everything that happened. */
  readonly all: boolean;
  /** Say what to do when the task waits for a person: for who follows it live. */
  readonly advise: boolean;
}

/** Shows events as they come. */
export async function showEvents(
  print: Printer,
  events: AsyncIterable<TaskEvent>,
  { json, all, advise }: ShowOptions,
): Promise<void> {
  for await (const event of events) {
    const written = writtenBy(event);
    if (json) print.jsonLine(event);
    else if (written !== null) print.guest(written.stream, written.text);
    else if (event.type === "task.output_truncated") print.note(truncation(event));
    else if (all) print.note(eventLine(print, event));
    else if (advise && event.type === "approval.requested") print.note(adviceOn(print, event));
  }
}

function truncation({ data }: TaskEvent): string {
  return `airlock: ${(data as { bytes: number }).bytes} bytes of output were not kept`;
}

function adviceOn(print: Printer, { data }: TaskEvent): string {
  const { approvalId } = data as { approvalId: string };
  return print.style("yellow", `airlock: waits for a person (${approvalId}); decide with "airlock approvals watch"`);
}
