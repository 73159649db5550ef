import { hash } from "node:crypto";

/** Keys are long and random, so a plain hash is enough: there is nothing to guess slowly. */
export function hashKey(key: string): Buffer {
  return hash("sha256", key, "buffer");
}
