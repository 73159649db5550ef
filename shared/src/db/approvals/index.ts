export type { Consequence } from "./consequences.ts";
export * from "./decidable.ts";
export * from "./held-calls.ts";
export * from "./read.ts";
export * from "./settle.ts";
