import { describe, expect, it } from "vitest";
import { applySnapshot, readSnapshot, takeSnapshot } from "./snapshot.ts";

const PAGE = 65_536;
const HEAD = { main: 12, printed: 34, kept: 30, open: 5 };

/** A memory that differs from the image here and there. */
function change(image: Uint8Array, pages: number, bytes: readonly (readonly [number, number])[]): Uint8Array {
  const memory = new Uint8Array(pages * PAGE);
  memory.set(image);
  for (const [at, value] of bytes) memory[at] = value;
  return memory;
}

describe("a snapshot of a memory", () => {
  const image = new Uint8Array(2 * PAGE).map((_, i) => (i > 1000 && i < 90_000 ? (i * 7) % 251 : 0));

  it.each<[string, Uint8Array]>([
    ["that is the image", change(image, 2, [])],
    [
      "with a byte at either end",
      change(image, 2, [
        [1024, 0],
        [2 * PAGE - 1, 9],
      ]),
    ],
    [
      "with many runs",
      change(
        image,
        2,
        Array.from({ length: 5000 }, (_, i) => [1024 + 13 * i, i % 256] as const),
      ),
    ],
    ["that was zeroed", new Uint8Array(2 * PAGE).fill(0)],
    [
      "that grew",
      change(image, 5, [
        [3 * PAGE, 1],
        [5 * PAGE - 1, 2],
      ]),
    ],
  ])("%s is read back as it was, beyond the stack", (_, memory) => {
    const read = readSnapshot(takeSnapshot(memory, image, 1024, HEAD), memory.length);
    expect(read).toMatchObject({ ...HEAD, memory: memory.length });
    const restored = change(image, memory.length / PAGE, []);
    applySnapshot(restored, read);
    expect(Buffer.from(restored).subarray(1024).equals(memory.subarray(1024))).toBe(true);
  });

  it("keeps nothing of the stack", () => {
    const plain = takeSnapshot(change(image, 2, []), image, 1024, HEAD);
    expect(
      takeSnapshot(
        change(image, 2, [
          [4, 1],
          [1000, 2],
        ]),
        image,
        1024,
        HEAD,
      ),
    ).toEqual(plain);
  });

  it("is refused where it is larger than the guest may be", () => {
    const stored = takeSnapshot(change(image, 5, []), image, 1024, HEAD);
    expect(() => readSnapshot(stored, 4 * PAGE)).toThrow("bytes of memory");
  });

  it("is refused where a single bit of it is another", () => {
    const stored = takeSnapshot(
      change(image, 2, [
        [2000, 1],
        [70_000, 3],
      ]),
      image,
      1024,
      HEAD,
    );
    const wrong = Array.from({ length: stored.length * 8 }, (_, bit) => {
      const changed = Buffer.from(stored);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      try {
        const read = readSnapshot(changed, 2 * PAGE);
        // A bit that pads the last byte of the compressed stream says nothing.
        const restored = change(image, 2, []);
        applySnapshot(restored, read);
        return Buffer.from(restored).equals(
          change(image, 2, [
            [2000, 1],
            [70_000, 3],
          ]),
        )
          ? 0
          : 1;
      } catch {
        return 0;
      }
    });
    expect(wrong.filter((each) => each === 1)).toEqual([]);
  });
});
