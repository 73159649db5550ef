import { Script, constants } from "node:vm";

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

const NAME = "[\\p{ID_Start}$_][\\p{ID_Continue}$]*";
const CLAUSE = `(type\\s+)?(?:(${NAME})\\s*(?:,\\s*|(?=from)|\\s))?(?:\\*\\s*as\\s+(${NAME})|(\\{[^}]*\\}))?\\s*from\\s*`;
const STATEMENT = `import\\s*(?:${CLAUSE})?("[^"\\n]*"|'[^'\\n]*')(\\s*with\\s*\\{[^}]*\\})?[ \\t]*;?`;

/** Takes the import that begins on a line out of the code, and puts what it means on the list. */
export function takeImportAt(code: string, line: number, imports: string[]): string | null {
  if (line <= 0) return null;
  let from = 0;
  for (let i = 1; i < line; i++) from = code.indexOf("\n", from) + 1;
  const pattern = new RegExp(STATEMENT, "uy");
  for (let at = code.indexOf("import", from); at >= 0; at = code.indexOf("import", at + 1)) {
    if (code.slice(from, at).includes("\n")) return null;
    pattern.lastIndex = at;
    const found = pattern.exec(code);
    if (found === null) continue;
    imports.push(bindImport(found));
    const blank = found[0].replaceAll(/[^\n]/g, " ");
    return code.slice(0, at) + blank + code.slice(at + found[0].length);
  }
  return null;
}

function bindImport([, type, name, space, list, specifier, attributes]: RegExpExecArray): string {
  if (type !== undefined) return "";
  const options = attributes === undefined ? "" : `, { with: ${attributes.trim().slice("with".length)} }`;
  const load = `await import(${specifier}${options})`;
  if (space !== undefined) {
    return `const ${space} = ${load};${name === undefined ? "" : ` const ${name} = ${space}.default;`}`;
  }
  const bare = (list ?? "{}").replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "").slice(1, -1);
  const named = bare
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "" && !/^type\s+(?!as\b)/.test(each))
    .map((each) => each.replace(/\s+as\s+/, ": "));
  if (name !== undefined) named.unshift(`default: ${name}`);
  return named.length === 0 ? `${load};` : `const { ${named.join(", ")} } = ${load};`;
}
