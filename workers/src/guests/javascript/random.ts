import type { Intrinsics } from "./intrinsics.ts";

/** Seeded randomness: the host puts eight words of the task's seed into the letter box before the guest starts. */
export function makeRandom(I: Intrinsics, words: Uint32Array, RANDOM: number, CRYPTO: number) {
  /** sfc32: small, fast, and good enough where nothing may be secret anyway. */
  const next = (at: number) => {
    const a = words[at] as number;
    const b = words[at + 1] as number;
    const c = words[at + 2] as number;
    const d = words[at + 3] as number;
    const t = (a + b + d) | 0;
    words[at] = b ^ (b >>> 9);
    words[at + 1] = (c + (c << 3)) | 0;
    words[at + 2] = (((c << 21) | (c >>> 11)) + t) | 0;
    words[at + 3] = (d + 1) | 0;
    return t >>> 0;
  };
  const fill = (bytes: Uint8Array, length: number) => {
    for (let i = 0; i < length; i++) bytes[i] = next(CRYPTO) >>> 24;
  };
  const random = () => ((next(RANDOM) >>> 5) * 67_108_864 + (next(RANDOM) >>> 6)) / 9_007_199_254_740_992;

  const getRandomValues = (target: unknown) => {
    const kind =
      typeof target === "object" && target !== null ? I.typedArrayName<string | undefined>(target) : undefined;
    if (kind === undefined || I.slice(kind, 0, 5) === "Float") {
      throw new I.DOMException("crypto.getRandomValues needs an integer typed array", "TypeMismatchError");
    }
    const length = I.typedArrayBytes<number>(target);
    if (length > 65_536) throw new I.DOMException("more than 65536 random bytes asked at once", "QuotaExceededError");
    const buffer = I.typedArrayBuffer<ArrayBuffer>(target);
    fill(new I.Uint8Array(buffer, I.typedArrayOffset<number>(target), length), length);
    return target;
  };
  const randomUUID = () => {
    let text = "";
    for (let i = 0; i < 16; i++) {
      let byte = next(CRYPTO) >>> 24;
      if (i === 6) byte = (byte & 0x0f) | 0x40;
      if (i === 8) byte = (byte & 0x3f) | 0x80;
      if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
      text += (byte < 16 ? "0" : "") + I.numberToString<string>(byte, 16);
    }
    return text;
  };
  return { random, crypto: { getRandomValues, randomUUID } };
}
