/** Text that stays inside its comment, whatever a tool's author wrote. */
function contained(text: string): string {
  return text.replaceAll("*/", "*\\/");
}

/** A JSDoc comment with a line break after it, or nothing. */
export function docComment(lines: readonly string[], indent: string): string {
  const all = lines.flatMap((line) => contained(line).split(/\r\n|[\n\r\u2028\u2029]/)).map((line) => line.trimEnd());
  const first = all.findIndex((line) => line !== "");
  if (first < 0) return "";
  const shown = all.slice(first, all.findLastIndex((line) => line !== "") + 1);
  if (shown.length === 1) return `${indent}/** ${shown[0]} */\n`;
  const body = shown.map((line) => `${indent} *${line === "" ? "" : ` ${line}`}\n`).join("");
  return `${indent}/**\n${body}${indent} */\n`;
}

export function inlineComment(text: string): string {
  return `/* ${contained(text).replaceAll(/\s+/g, " ")} */`;
}
