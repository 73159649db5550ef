import { isUtf8 } from "node:buffer";
import { describe, expect, it } from "vitest";
import { contentTypeOf } from "./content-type.ts";

describe("the content type", () => {
  it.each([
    ["a.html", "<p>", "text/html"],
    ["A.HTML", "<p>", "text/html"],
    ["a.json", "{}", "application/json"],
    ["a", "hello", "text/plain"],
    ["a.png", "<script>", "text/plain"],
    ["a.html", "\x89PNG\r\n\x1a\n", "image/png"],
    ["a.html", "\xff\xfe", "application/octet-stream"],
    ["a.txt", "%PDF-1.7", "application/pdf"],
    ["a", "RIFF\0\0\0\0WEBPVP8 ", "image/webp"],
    ["constructor", "x", "text/plain"],
  ])("of %s holding %j is %s", (name, content, expected) => {
    const bytes = Buffer.from(content, "latin1");
    expect(contentTypeOf(name, bytes, isUtf8(bytes) && !bytes.includes(0))).toBe(expected);
  });
});
