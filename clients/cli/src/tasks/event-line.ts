import type { TaskEvent } from "@airlock/client";
import type { Printer } from "../terminal/printer.ts";

/** What happened, for a person. Output is not told here: it is shown as it is. */
export function eventLine(print: Printer, { at, type, data }: TaskEvent): string {
  const time = print.style("gray", at.slice(11, 19));
  const details = Object.entries((data ?? {}) as Record<string, unknown>)
    .map(([name, value]) => `${name}=${print.quote(typeof value === "string" ? value : JSON.stringify(value))}`)
    .join(" ");
  return `${time} ${print.style("bold", type)} ${details}`.trimEnd();
}

export interface Written {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** What the guest wrote, where that is what the event is about. */
export function writtenBy({ type, data }: TaskEvent): Written | null {
  return type === "task.output" ? (data as Written) : null;
}
