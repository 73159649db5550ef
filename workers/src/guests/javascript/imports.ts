const NAME = "[\\p{ID_Start}$_][\\p{ID_Continue}$]*";
const CLAUSE = `(type\\s+)?(?:(${NAME})\\s*(?:,\\s*|(?=from)|\\s))?(?:\\*\\s*as\\s+(${NAME})|(\\{[^}]*\\}))?\\s*from\\s*`;
const STATEMENT = `import\\s*(?:${CLAUSE})?("[^"\\n]*"|'[^'\\n]*')(\\s*with\\s*\\{[^}]*\\})?[ \\t]*;?`;

/**
 * Takes the import that begins on a line out of the code, and puts what it means on the list: nothing where it names types
 * alone.
 */
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
