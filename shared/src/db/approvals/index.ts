export { CHUNK, cut } from "./chunks.ts";
export type { Consequence } from "./consequences.ts";
export * from "./decidable.ts";
export { type HeldCall, listHeldCalls, listHeldPaths } from "./held-calls.ts";
export * from "./lapse.ts";
export * from "./read.ts";
export { findMisjudged, rejudge, supersede } from "./rejudge.ts";
export * from "./settle.ts";
