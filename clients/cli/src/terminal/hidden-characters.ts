/**
 * Everything that a reader does not see, or takes for something else: controls, bidirectional marks, zero-width and
 * ignorable characters, fillers, private and unassigned ones, half surrogates, and every space but the plain one.
 */
const HIDDEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const NAMES: Readonly<Record<number, string>> = {
  0x00: "null",
  0x07: "bell",
  0x08: "backspace",
  0x09: "tab",
  0x0a: "line feed",
  0x0d: "carriage return",
  0x1b: "escape",
  0x7f: "delete",
  0xa0: "no-break space",
  0xad: "soft hyphen",
  0x200b: "zero width space",
  0x200c: "zero width non-joiner",
  0x200d: "zero width joiner",
  0x200e: "left-to-right mark",
  0x200f: "right-to-left mark",
  0x2028: "line separator",
  0x2029: "paragraph separator",
  0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting",
  0x202d: "left-to-right override",
  0x202e: "right-to-left override",
  0x202f: "narrow no-break space",
  0x2060: "word joiner",
  0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate",
  0x2068: "first strong isolate",
  0x2069: "pop directional isolate",
  0x2800: "braille blank",
  0x3000: "ideographic space",
  0x3164: "hangul filler",
  0xfeff: "zero width no-break space",
};

/** Spells out what cannot be seen as `<U+202E>`. `kept` are characters that give the text its shape. */
export function markHidden(text: string, kept: string, paint: (mark: string) => string = (mark) => mark): string {
  return text.replaceAll(HIDDEN, (char) =>
    char === " " || kept.includes(char) ? char : paint(`<${codePointOf(char)}>`),
  );
}

/** JSON with the same value, in which they are escapes. */
export function escapeHidden(json: string): string {
  return json.replaceAll(HIDDEN, (char) => {
    if (char === " " || char === "\n") return char;
    return char
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
  });
}

/** Each kind with how often it occurs, like `U+202E right-to-left override (2)`. */
export function listHidden(text: string, kept: string): string[] {
  const counts = new Map<string, number>();
  for (const [char] of text.matchAll(HIDDEN)) {
    if (char !== " " && !kept.includes(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  return [...counts].map(([char, count]) => {
    const name = NAMES[char.codePointAt(0) ?? 0];
    return `${codePointOf(char)}${name === undefined ? "" : ` ${name}`} (${count})`;
  });
}

function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
