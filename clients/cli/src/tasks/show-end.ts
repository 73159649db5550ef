import type { Task } from "@airlock/client";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { Printer } from "../terminal/printer.ts";
import { statusWord } from "../terminal/words.ts";

/** What the task returned on the standard output, or why it returned nothing on the other; answers the exit code. */
export function showEnd(print: Printer, task: Task): number {
  const code = exitCodeOf(task.status);
  if (code === EXIT.ok) {
    if (task.output !== null) print.json(task.output);
    return code;
  }
  const why = task.error === null ? "" : `: ${print.quote(task.error.message, "\n")} (${task.error.code})`;
  print.note(`${statusWord(print, task.status)}${why}`);
  if (task.error?.retryable === true) print.note(`a retry may help: airlock tasks retry ${task.id}`);
  return code;
}
