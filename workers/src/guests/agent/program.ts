import { Script, constants } from "node:vm";
import { takeImportAt } from "../javascript/imports.ts";

export type Program = (input: unknown, require: unknown) => Promise<unknown>;

/** Our lines before the author's first one. */
const HEAD_LINES = 2;

/** Makes a function of a program: the body of an async function, whose imports come first. */
export function compileProgram(code: string, typescript: boolean): Program {
  const imports: string[] = [];
  const plain = typescript ? stripTypes(code, imports) : code;
  const filename = typescript ? "task.ts" : "task.js";
  let body = plain;
  for (;;) {
    try {
      const script = new Script(wrapProgram(body, imports), {
        filename,
        lineOffset: -HEAD_LINES,
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      return script.runInThisContext() as Program;
    } catch (error) {
      const rest = takeImportAt(body, lineOf(error, filename), imports);
      if (rest === null) throw error;
      body = rest;
    }
  }
}

function wrapProgram(code: string, imports: readonly string[]): string {
  const label = unusedLabel(code);
  const head = `(async (input, require) => { "use strict"; ${imports.join(" ")} ${label}: {`;
  return `${head}\n\n${code}\nbreak ${label}; } })`;
}

/** A label ties the last line to the first: code that closes our block and opens another does not compile. */
export function unusedLabel(code: string): string {
  let label = "body";
  while (code.includes(label)) label += "_";
  return label;
}

/** Replaces types by blanks: every line and column stays where the author wrote it. */
function stripTypes(code: string, imports: string[]): string {
  const { stripTypeScriptTypes } = process.getBuiltinModule("node:module");
  const head = "async () => {\n";
  const tail = "\n}";
  let body = code;
  for (;;) {
    try {
      const stripped = stripTypeScriptTypes(head + body + tail, { mode: "strip" });
      return stripped.slice(head.length, stripped.length - tail.length);
    } catch (error) {
      // Node puts `:<line>` and the marked source line before the message, in the stack only.
      const line = Number(/^[^\n]*:(\d+)\n/.exec((error as Error).stack ?? "")?.[1] ?? 0) - 1;
      const rest = (error as Error).message.includes("'import'") ? takeImportAt(body, line, imports) : null;
      if (rest !== null) {
        body = rest;
        continue;
      }
      const told = new SyntaxError((error as Error).message);
      told.stack = `SyntaxError: ${told.message}${line > 0 ? `\n    at task.ts:${line}` : ""}`;
      throw told;
    }
  }
}

/** The line that a syntax error is about; 0 where that is no import. V8 is the judge of what is one. */
function lineOf(error: unknown, filename: string): number {
  if (!(error instanceof SyntaxError) || !error.message.includes("import statement")) return 0;
  return Number(new RegExp(`^${filename}:(\\d+)\n`).exec(error.stack ?? "")?.[1] ?? 0);
}
