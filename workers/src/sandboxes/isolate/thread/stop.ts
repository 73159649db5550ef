import type { GuestEnd } from "../messages.ts";

/** Thrown out of the engine: unwinds all of the guest's frames, and nothing in the guest can catch it. */
export class Stop {
  readonly end: GuestEnd;
  readonly sound: boolean;
  constructor(end: GuestEnd, sound = isSound(end)) {
    this.end = end;
    this.sound = sound;
  }
}

const UNSOUND = new Set<string>(["TIMEOUT", "OUT_OF_MEMORY", "OUTPUT_LIMIT", "SANDBOX_FAILED"]);

/** Only a guest that ended by itself leaves a machine that may be used again. */
function isSound(end: GuestEnd): boolean {
  if (end.kind === "failed") return !UNSOUND.has(end.code);
  return end.kind === "returned" || end.kind === "parked";
}
