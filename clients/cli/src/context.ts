import type { Client } from "@airlock/client";
import type { Printer } from "./terminal/printer.ts";
import type { Settings } from "./settings.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** Everything a command may touch. */
export interface Context {
  readonly env: Env;
  readonly stdin: NodeJS.ReadStream;
  readonly print: Printer;
  /** Where the gateway is and with which key; throws a UsageError where nothing says so. */
  settings(): Promise<Settings>;
  client(): Promise<Client>;
  /** The first Ctrl-C; a second one ends the program. Only who calls this keeps the first from ending it. */
  interruption(): AbortSignal;
}
