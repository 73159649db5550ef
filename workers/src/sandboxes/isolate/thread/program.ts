import { stripTypeScriptTypes } from "node:module";
import { takeImportAt } from "../../../guests/javascript/imports.ts";

/** A program that could not be made ready to run. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/** `stripTypeScriptTypes` refuses a `return` outside of a function, so that the code is stripped inside of one. */
const STRIP_HEAD = "async () => {\n";
const STRIP_TAIL = "\n}";

/** Replaces types, and imports of types alone, by blanks: every line and column stays where the author wrote it. */
export function stripTypes(code: string): string {
  let body = code;
  for (;;) {
    try {
      const stripped = stripTypeScriptTypes(STRIP_HEAD + body + STRIP_TAIL, { mode: "strip" });
      return stripped.slice(STRIP_HEAD.length, stripped.length - STRIP_TAIL.length);
    } catch (error) {
      const rest = withoutTypeImport(body, error as Error);
      if (rest === null) throw new ProgramError(stripFailure(body, error as Error));
      body = rest;
    }
  }
}

function withoutTypeImport(code: string, error: Error): string | null {
  const imports: string[] = [];
  const rest = isAboutModules(error) ? takeImportAt(code, lineOf(error), imports) : null;
  return imports[0] === "" ? rest : null;
}

function isAboutModules({ message }: Error): boolean {
  return message.includes("'import', and 'export'");
}

/** Node puts `:<line>` and the marked source line before the message, in the stack only. */
function lineOf({ stack }: Error): number {
  return Number(/^[^\n]*:(\d+)\n/.exec(stack ?? "")?.[1] ?? 0) - 1;
}

function stripFailure(code: string, error: Error): string {
  const line = lineOf(error);
  const where = line > 0 ? ` (task.ts:${line})` : "";
  if (isAboutModules(error)) return `${noModules(code)}${where}`;
  return `SyntaxError: ${error.message}${where}`;
}

const MODULE_SYNTAX = /^[ \t]*(?:import\b(?!\s*[(.])|export\b).*$/m;

/** Whether a syntax error may come from an `import` or `export` statement. */
export function usesModuleSyntax(code: string): boolean {
  return MODULE_SYNTAX.test(code);
}

export function noModules(code: string): string {
  const statement = MODULE_SYNTAX.exec(code)?.[0].trim().slice(0, 120);
  return `SyntaxError: there are no modules in the isolate, so \`import\` and \`export\` do not work${
    statement === undefined ? "" : `: ${statement}`
  }`;
}

/** The author's first line is line 1 when the script, whose first two lines are ours, begins at line -1. */
export const FIRST_LINE = -1;

/**
 * The script that gives the program as a function. The label ties the last line to the first: code that closes our
 * block and opens another does not compile, as it cannot know a label that it does not contain.
 */
export function wrapProgram(code: string): string {
  let label = "body";
  while (code.includes(label)) label += "_";
  return `(async (input) => { ${label}: {\n\n${code}\nbreak ${label}; } })`;
}
