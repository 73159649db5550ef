import type { makeTimers } from "../javascript/timers.ts";

type Guest = ReturnType<typeof makeTimers>["globals"];

const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");

/** What Node's `setTimeout` answers; the shared timers know it by its number. */
class Timeout {
  readonly #id: unknown;
  readonly #again: () => unknown;
  #current: unknown;

  constructor(again: () => unknown) {
    this.#again = again;
    this.#id = this.#current = again();
  }

  get current(): unknown {
    return this.#current;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    clear(this);
    this.#current = this.#again();
    return this;
  }
  close(): this {
    clear(this);
    return this;
  }
  [Symbol.toPrimitive](): unknown {
    return this.#id;
  }
  [Symbol.dispose](): void {
    clear(this);
  }
}

let clear: (timer: unknown) => void = () => {};

export interface GuestTimers {
  /** Called before each look at the real time and after each change of what is due. */
  readonly sync: () => void;
  readonly changed: () => void;
}

/** Node's own timers, in all the places where a program finds them, go by the guest's clock. */
export function replaceTimers(timers: Guest, { sync, changed }: GuestTimers): Record<string, unknown> {
  const start =
    (kind: "setTimeout" | "setInterval") =>
    (run: unknown, delay?: unknown, ...args: unknown[]) => {
      if (typeof run !== "function") throw new TypeError("a timer needs a function to call");
      return new Timeout(() => {
        sync();
        const id = timers[kind](run, delay, ...args);
        changed();
        return id;
      });
    };
  clear = (timer) => {
    timers.clearTimeout(timer instanceof Timeout ? timer.current : timer);
    changed();
  };
  const all = { setTimeout: start("setTimeout"), setInterval: start("setInterval") };
  const promised = makePromised(all);
  Object.defineProperty(all.setTimeout, PROMISIFY, { value: promised.setTimeout });
  const globals = { ...all, clearTimeout: clear, clearInterval: clear };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
  }
  return { timers: globals, promises: promised };
}

function makePromised(all: { setTimeout: (run: unknown, delay?: unknown) => Timeout }) {
  interface Options {
    readonly signal?: AbortSignal;
  }
  const sleep = (delay?: unknown, value?: unknown, { signal }: Options = {}) =>
    new Promise((resolve, reject) => {
      const abort = () => {
        clear(timer);
        const error = new Error("The operation was aborted", { cause: signal?.reason });
        reject(Object.assign(error, { name: "AbortError", code: "ABORT_ERR" }));
      };
      const timer = all.setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      }, delay);
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  async function* ticks(delay?: unknown, value?: unknown, options?: Options) {
    for (;;) yield await sleep(delay, value, options);
  }
  return {
    setTimeout: sleep,
    setInterval: ticks,
    scheduler: { wait: (delay: unknown, options?: Options) => sleep(delay, undefined, options), yield: () => sleep(0) },
  };
}

/** For programs that load modules. */
export function replaceTimerModules({ timers, promises }: Record<string, unknown>): void {
  const own = process.getBuiltinModule("node:timers/promises") as unknown as Record<string, unknown>;
  Object.assign(own, promises);
  Object.assign(process.getBuiltinModule("node:timers"), timers);
}
