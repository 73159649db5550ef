import path from "node:path";
import { text } from "node:stream/consumers";
import type { Language } from "@airlock/client";
import { UsageError } from "./command.ts";
import { readText } from "./json-argument.ts";

const BY_ENDING: Readonly<Record<string, Language>> = {
  ".ts": "TYPESCRIPT",
  ".mts": "TYPESCRIPT",
  ".js": "JAVASCRIPT",
  ".mjs": "JAVASCRIPT",
  ".py": "PYTHON",
  ".sh": "BASH",
};

const LANGUAGES: readonly Language[] = ["TYPESCRIPT", "JAVASCRIPT", "PYTHON", "BASH", "BUN"];

/** The file's text, or for `-` what comes on the standard input. */
export function readSource(file: string, stdin: NodeJS.ReadStream): Promise<string> {
  return file === "-" ? text(stdin) : readText(file);
}

/** As named, else as the file's ending says, else TypeScript. */
export function languageOf(file: string, named: string | undefined): Language {
  if (named === undefined) return BY_ENDING[path.extname(file).toLowerCase()] ?? "TYPESCRIPT";
  const language = LANGUAGES.find((one) => one === named.toUpperCase());
  if (language === undefined) {
    throw new UsageError(`--language is one of ${LANGUAGES.join(", ").toLowerCase()}, not ${JSON.stringify(named)}`);
  }
  return language;
}
