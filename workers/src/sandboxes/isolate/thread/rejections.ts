import type { EngineExports } from "../engine/abi.ts";
import type { Box } from "../engine/machine.ts";

/** The promises that were rejected and that nobody handles. There are none while a guest waits: it would have ended. */
export class Rejections {
  readonly #engine: EngineExports;
  readonly #unhandled = new Map<number, { promise: Box; reason: Box }>();

  constructor(engine: EngineExports) {
    this.#engine = engine;
  }

  /** Both boxes are ours to free. */
  note(promise: Box, reason: Box, handled: boolean): void {
    const key = this.#engine.qjs_get_value_ptr(promise);
    const known = this.#unhandled.get(key);
    if (!handled && known === undefined) {
      this.#unhandled.set(key, { promise, reason });
      return;
    }
    if (handled && known !== undefined) {
      this.#unhandled.delete(key);
      this.#free(known.promise, known.reason);
    }
    this.#free(promise, reason);
  }

  /** The reason of the first one, this promise aside. */
  firstBut(promise: Box): Box | null {
    const but = this.#engine.qjs_get_value_ptr(promise);
    for (const [key, { reason }] of this.#unhandled) if (key !== but) return reason;
    return null;
  }

  #free(...boxes: Box[]): void {
    for (const box of boxes) this.#engine.qjs_free_value(box);
  }
}
