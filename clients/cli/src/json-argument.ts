import { readFile } from "node:fs/promises";
import { UsageError } from "./command.ts";

/** JSON as an argument, or `@file` for the file that holds it. */
export async function readJsonArgument(name: string, text: string): Promise<unknown> {
  const json = text.startsWith("@") ? await readText(text.slice(1)) : text;
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new UsageError(`${name} must be JSON, or @ and the name of a file with JSON: ${(error as Error).message}`);
  }
}

export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`);
  }
}

export function readNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < 0) {
    throw new UsageError(`${name} must be a whole number, not ${JSON.stringify(text)}`);
  }
  return value;
}

/** `--dependency left-pad@^1.3.0 --dependency @scope/name` */
export function readDependencies(given: readonly string[] | undefined): Record<string, string> | undefined {
  if (given === undefined) return undefined;
  return Object.fromEntries(
    given.map((text) => {
      // A name may begin with @ itself.
      const at = text.indexOf("@", 1);
      return at < 0 ? [text, "latest"] : [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** `--label kind=sum --label run=7` */
export function readLabels(pairs: readonly string[] | undefined): Record<string, string> | undefined {
  if (pairs === undefined) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`a label is given as name=value, not as ${JSON.stringify(pair)}`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
