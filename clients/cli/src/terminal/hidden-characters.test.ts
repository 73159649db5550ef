import { describe, expect, test } from "vitest";
import { escapeHidden, listHidden, markHidden } from "./hidden-characters.ts";

describe("characters that do not show", () => {
  test.each([
    ["a control", "\u0007", "<U+0007>"],
    ["an escape", "\u001B", "<U+001B>"],
    ["a C1 control, which some terminals obey", "\u009B", "<U+009B>"],
    ["a bidirectional override", "\u202E", "<U+202E>"],
    ["a bidirectional isolate", "\u2066", "<U+2066>"],
    ["a zero-width space", "\u200B", "<U+200B>"],
    ["a zero-width joiner", "\u200D", "<U+200D>"],
    ["a byte order mark", "\uFEFF", "<U+FEFF>"],
    ["a no-break space", "\u00A0", "<U+00A0>"],
    ["an em space", "\u2003", "<U+2003>"],
    ["a line separator", "\u2028", "<U+2028>"],
    ["a filler", "\u3164", "<U+3164>"],
    ["a braille blank", "\u2800", "<U+2800>"],
    ["a tag", "\u{E0041}", "<U+E0041>"],
    ["a variation selector", "\uFE0F", "<U+FE0F>"],
    ["a private one", "\uE000", "<U+E000>"],
    ["half a pair", "\uD800", "<U+D800>"],
    ["a line end, where it gives no shape", "\n", "<U+000A>"],
  ])("%s is marked", (_, char, mark) => {
    expect(markHidden(`a${char}b`, "")).toBe(`a${mark}b`);
  });

  test("what shows is left alone, in every script", () => {
    const text = "plain, ünïcödé, 日本語, עברית, العربية, 🙂 <U+202E>";
    expect(markHidden(text, "")).toBe(text);
    expect(markHidden("a\n\tb", "\n\t")).toBe("a\n\tb");
  });

  test("JSON keeps its value when they become escapes", () => {
    const value = { "k\u202Ey": "a\u200B\u{E0041}\u009Bb\u0000", plain: "日本語 🙂" };
    const escaped = escapeHidden(JSON.stringify(value, null, 2));
    expect(JSON.parse(escaped)).toEqual(value);
    expect(escaped).toContain("日本語 🙂");
    expect(markHidden(escaped, "\n")).toBe(escaped);
  });

  test("each kind is listed with its name and its number", () => {
    expect(listHidden("a\u202Eb\u202Ec\uE000", "")).toEqual(["U+202E right-to-left override (2)", "U+E000 (1)"]);
  });
});
