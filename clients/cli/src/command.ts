import type { Context } from "./context.ts";

export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** What stands for the value in the help. */
  readonly value?: string;
  readonly help: string;
}

type Options = Readonly<Record<string, Option>>;

type Values<O extends Options> = {
  readonly [K in keyof O]?: O[K]["type"] extends "boolean"
    ? boolean
    : O[K]["multiple"] extends true
      ? readonly string[]
      : string;
};

interface Arguments<O extends Options> {
  readonly values: Values<O> & { readonly json?: boolean };
  /** As many as the command asks for: checked before it runs. */
  readonly positionals: readonly string[];
}

interface Definition<O extends Options> {
  /** One word, or a noun and a verb. */
  readonly name: string;
  readonly summary: string;
  /** `<like-this>` for one that must be there, `[like-this]` for one that may, `...` for more of them. */
  readonly positionals?: readonly string[];
  readonly options?: O;
  /** Below the options in the help. */
  readonly notes?: string;
  /** Answers the exit code. */
  run(context: Context, given: Arguments<O>): Promise<number>;
}

/** A command with its options' types forgotten: what the table holds. */
export type Command = Definition<Options>;

export function defineCommand<const O extends Options>(definition: Definition<O>): Command {
  return definition;
}

/** The caller's mistake: told with a pointer to the help, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
