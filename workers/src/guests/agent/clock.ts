import type { MarkOptions, MeasureOptions, Performance } from "node:perf_hooks";
import { BOX_FLOATS } from "../javascript/box.ts";
import { onFirstLook } from "./on-first-look.ts";

/** Each look at the clock moves it, so that waiting for it in a loop comes to an end. */
const CLOCK_STEP_MS = 0.01;

/** What tells the time or waits for it goes by the guest's own clock, as in the isolate. */
export function replaceClock(floats: Float64Array, after: (run: () => void, delay: number) => unknown): void {
  /** Whole microseconds since the guest's start. */
  const look = (): number => {
    const elapsed = (floats[BOX_FLOATS.elapsed] as number) + CLOCK_STEP_MS;
    floats[BOX_FLOATS.elapsed] = elapsed;
    return Math.round(elapsed * 1000);
  };
  const { start } = BOX_FLOATS;
  const now = (): number => Math.floor((Math.round((floats[start] as number) * 1000) + look()) / 1000);
  replaceDate(now);
  replaceFormats(now);
  replaceHrtime(look);
  onFirstLook("performance", (own) =>
    replacePerformance(own as unknown as Performance, look, () => floats[start] as number),
  );
  onFirstLook("AbortSignal", (own) => replaceTimeout(own as typeof AbortSignal, after));
}

function replaceDate(now: () => number): void {
  const Real = Date;
  const { construct } = Reflect;
  const Guest = new Proxy(Real, {
    apply: () => new Real(now()).toString(),
    construct: (_, args: unknown[], target) => construct(Real, args.length === 0 ? [now()] : args, target) as object,
  });
  Object.defineProperty(Real, "now", { value: { now }.now, writable: true, configurable: true });
  Object.defineProperty(Real.prototype, "constructor", { value: Guest, writable: true, configurable: true });
  Object.defineProperty(globalThis, "Date", { value: Guest, writable: true, configurable: true });
}

function replaceHrtime(look: () => number): void {
  const hrtime = (before?: [number, number]): [number, number] => {
    const micros = look();
    const [seconds, nanos] = [Math.floor(micros / 1e6), (micros % 1e6) * 1000];
    if (before === undefined) return [seconds, nanos];
    const borrowed = nanos < before[1] ? 1 : 0;
    return [seconds - before[0] - borrowed, nanos - before[1] + borrowed * 1e9];
  };
  hrtime.bigint = () => BigInt(look()) * 1000n;
  process.hrtime = hrtime;
  process.uptime = () => look() / 1e6;
}

/** A format that is given no date takes the present. */
function replaceFormats(now: () => number): void {
  type Format = (date?: unknown) => unknown;
  const { prototype } = Intl.DateTimeFormat;
  const { get } = Object.getOwnPropertyDescriptor(prototype, "format") as { get(): Format };
  const parts = prototype.formatToParts as Format;
  const { apply } = Reflect;
  const known = new WeakMap<Format, Format>();
  Object.defineProperty(prototype, "format", {
    get(this: unknown): Format {
      const own = apply(get, this, []) as Format;
      const mine = known.get(own) ?? ((date) => own(date === undefined ? now() : date));
      known.set(own, mine);
      return mine;
    },
    configurable: true,
  });
  function formatToParts(this: unknown, date?: unknown): unknown {
    return apply(parts, this, [date === undefined ? now() : date]);
  }
  Object.defineProperty(prototype, "formatToParts", { value: formatToParts, writable: true, configurable: true });
}

function replacePerformance(own: Performance, look: () => number, origin: () => number): void {
  const now = (): number => look() / 1000;
  const { mark } = own;
  const measure = own.measure as (name: string, ...about: unknown[]) => unknown;
  const methods = {
    now,
    mark: (name: string, options: MarkOptions = {}) =>
      mark.call(own, name, { ...options, startTime: options.startTime ?? now() }),
    measure: (name: string, from?: string | MeasureOptions, to?: string) => {
      if (to !== undefined) return measure.call(own, name, from, to);
      const options: MeasureOptions = typeof from === "object" ? { ...from } : {};
      if (typeof from === "string") options.start = from;
      const ends = options.end !== undefined || (options.start !== undefined && options.duration !== undefined);
      return measure.call(own, name, ends ? options : { ...options, end: now() });
    },
    toJSON: () => ({ timeOrigin: origin() }),
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(own, name, { value, writable: true, configurable: true });
  }
  Object.defineProperty(own, "timeOrigin", { get: origin, configurable: true });
}

/** Node's own would fire when the real time has come, and keep no order with other timers. */
function replaceTimeout(own: typeof AbortSignal, after: (run: () => void, delay: number) => unknown): void {
  const timeout = (delay: number): AbortSignal => {
    if (typeof delay !== "number" || !(delay >= 0)) throw new RangeError("a timeout is a number of milliseconds");
    const controller = new AbortController();
    const reason = () => new DOMException("The operation was aborted due to timeout", "TimeoutError");
    after(() => controller.abort(reason()), delay);
    return controller.signal;
  };
  Object.defineProperty(own, "timeout", { value: timeout, writable: true, configurable: true, enumerable: true });
}
