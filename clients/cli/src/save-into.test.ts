import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { saveInto } from "./save-into.ts";

const home = mkdtempSync(path.join(tmpdir(), "airlock-save-"));
afterAll(() => rmSync(home, { recursive: true }));

function incoming(text: string, sha256 = createHash("sha256").update(text).digest("hex")) {
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  return async () => ({ sha256, bytes });
}

describe("saving what a guest has named", () => {
  const folder = path.join(home, "out");

  test("makes the folders that it needs", async () => {
    expect(await saveInto(folder, "a/b/c.txt", incoming("x"))).toBe(path.join(folder, "a/b/c.txt"));
    expect(readFileSync(path.join(folder, "a/b/c.txt"), "utf8")).toBe("x");
  });

  test.each(["../up", "/etc/x", "a/../../x", "", ".", "a//b", "a\\..\\b", "C:x", "a\nb", "a\0b", "~/../.."])(
    "%j is no name",
    async (name) => {
      await expect(saveInto(folder, name, incoming("x"))).rejects.toThrow(/no name/);
    },
  );

  test("replaces nothing", async () => {
    await saveInto(folder, "mine", incoming("first"));
    await expect(saveInto(folder, "mine", incoming("second"))).rejects.toThrow(/is there already/);
    expect(readFileSync(path.join(folder, "mine"), "utf8")).toBe("first");
  });

  test("follows no link out of the folder", async () => {
    const outside = path.join(home, "outside");
    await saveInto(outside, "seed", incoming("x"));
    symlinkSync(outside, path.join(folder, "link"));
    symlinkSync(path.join(outside, "new"), path.join(folder, "file"));
    await expect(saveInto(folder, "link/x", incoming("x"))).rejects.toThrow(/leads out/);
    await expect(saveInto(folder, "file", incoming("x"))).rejects.toThrow();
    expect(readdirSync(outside)).toEqual(["seed"]);
  });

  test("leaves nothing of a file that did not arrive as it was", async () => {
    await expect(saveInto(folder, "bad", incoming("x", "0".repeat(64)))).rejects.toThrow(/did not arrive/);
    writeFileSync(path.join(folder, "bad"), "free");
  });
});
