import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { type Command, type Option, UsageError } from "./command.ts";
import { COMMON_OPTIONS, GATEWAY_OPTIONS } from "./help.ts";

export interface Invocation {
  readonly values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];
}

export function optionsOf(command: Command): Record<string, Option> {
  return { ...command.options, ...GATEWAY_OPTIONS, ...COMMON_OPTIONS };
}

export function parseInvocation(command: Command, args: readonly string[]): Invocation {
  const options = Object.fromEntries(
    Object.entries(optionsOf(command)).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short !== undefined && { short }), ...(multiple === true && { multiple }) },
    ]),
  );
  const { values, positionals } = parseStrictly(args, options);
  if (values["help"] !== true) checkPositionals(command.positionals ?? [], positionals);
  return { values, positionals };
}

function parseStrictly(args: readonly string[], options: ParseArgsOptionsConfig) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node's own sentence is clear; what follows it is advice on how to escape a dash.
    throw new UsageError((error as Error).message.split(". ")[0]);
  }
}

function checkPositionals(wanted: readonly string[], given: readonly string[]): void {
  const missing = wanted.filter((name, i) => name.startsWith("<") && given[i] === undefined);
  if (missing.length > 0) throw new UsageError(`${missing.join(" ")} is missing`);
  const more = wanted.at(-1)?.includes("...") === true;
  const excess = more ? [] : given.slice(wanted.length);
  if (excess.length > 0) throw new UsageError(`${excess.map((one) => JSON.stringify(one)).join(" ")} is too much`);
}
