import type { makeRandom } from "../javascript/random.ts";
import { onFirstLook } from "./on-first-look.ts";

type Seeded = ReturnType<typeof makeRandom>["crypto"];
type Callback = (error: Error | null, value: unknown) => void;

const ROOM = 65_536;

export function replaceCryptoGlobal(seeded: Seeded): void {
  onFirstLook("crypto", (own) => replaceMethods(own, seeded));
}

export function replaceCryptoModule(seeded: Seeded): void {
  const fill = (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length; at += ROOM) seeded.getRandomValues(bytes.subarray(at, at + ROOM));
  };
  const later = (value: unknown, done: unknown) => {
    if (typeof done !== "function") return value;
    process.nextTick(done as Callback, null, value);
    return undefined;
  };
  const bytesOf = (view: ArrayBufferView | ArrayBuffer) =>
    ArrayBuffer.isView(view) ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength) : new Uint8Array(view);
  const below = (range: number) => {
    const words = new Uint32Array(2);
    const limit = 2 ** 48 - (2 ** 48 % range);
    for (;;) {
      seeded.getRandomValues(words);
      const value = ((words[0] as number) & 0xffff) * 2 ** 32 + (words[1] as number);
      if (value < limit) return value % range;
    }
  };
  const crypto = process.getBuiltinModule("node:crypto");
  // What else the module has of it are getters that look here.
  replaceMethods(crypto.webcrypto, seeded);
  Object.assign(crypto, {
    randomUUID: seeded.randomUUID,
    randomBytes: (size: number, done?: Callback) => {
      const bytes = Buffer.alloc(size);
      fill(bytes);
      return later(bytes, done);
    },
    randomFillSync: (view: ArrayBufferView, from = 0, size?: number) => {
      const bytes = bytesOf(view);
      fill(bytes.subarray(from, size === undefined ? undefined : from + size));
      return view;
    },
    randomFill: (view: ArrayBufferView, ...rest: unknown[]) => {
      const done = rest.pop();
      const [from = 0, size] = rest as number[];
      fill(bytesOf(view).subarray(from, size === undefined ? undefined : from + size));
      return later(view, done);
    },
    randomInt: (...args: unknown[]) => {
      const done = typeof args.at(-1) === "function" ? args.pop() : undefined;
      const [from, to] = (args.length === 1 ? [0, args[0]] : args) as [number, number];
      if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || to <= from) {
        throw new RangeError("randomInt needs whole numbers, the first below the second");
      }
      return later(from + below(to - from), done);
    },
  });
}

function replaceMethods(crypto: object, { getRandomValues, randomUUID }: Seeded): void {
  for (const [name, value] of Object.entries({ getRandomValues, randomUUID })) {
    Object.defineProperty(crypto, name, { value, writable: true, configurable: true, enumerable: true });
  }
}
