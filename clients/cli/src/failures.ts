import { AirlockError } from "@airlock/client";
import { type Command, UsageError } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { Interrupted } from "./terminal/ask.ts";
import type { Printer } from "./terminal/printer.ts";

/** Says what went wrong and answers the exit code. What nobody expected is thrown on, with its stack. */
export function tellFailure(print: Printer, command: Command, error: unknown, json: boolean): number {
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof UsageError) {
    const advice = `"airlock ${command.name} --help" tells more`;
    if (json) tellJson(print, "USAGE", error.message, false);
    else print.note(`airlock ${command.name}: ${error.message}\n${advice}`);
    return EXIT.usage;
  }
  if (!(error instanceof AirlockError)) throw error;
  if (json) tellJson(print, error.code, error.message, error.retryable);
  else print.note(`airlock ${command.name}: ${print.quote(error.message)} (${error.code})`);
  return EXIT.refused;
}

function tellJson(print: Printer, code: string, message: string, retryable: boolean): void {
  print.note(JSON.stringify({ error: { code, message, retryable } }));
}
