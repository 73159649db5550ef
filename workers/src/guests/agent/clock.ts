import { BOX_FLOATS } from "../javascript/box.ts";

/** Each look at the clock moves it, so that waiting for it in a loop comes to an end. */
const CLOCK_STEP_MS = 0.01;

/** `Date`, `performance` and `process.hrtime` go by the guest's own clock, as in the isolate. */
export function replaceClock(floats: Float64Array): void {
  /** Whole microseconds since the guest's start. */
  const look = (): number => {
    const elapsed = (floats[BOX_FLOATS.elapsed] as number) + CLOCK_STEP_MS;
    floats[BOX_FLOATS.elapsed] = elapsed;
    return Math.round(elapsed * 1000);
  };
  const { start } = BOX_FLOATS;
  replaceDate(() => Math.floor((Math.round((floats[start] as number) * 1000) + look()) / 1000));
  replaceHrtime(look);
  replacePerformance(look, () => floats[start] as number);
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

/** Loaded when it is first looked at: that costs milliseconds, which most programs save. */
function replacePerformance(look: () => number, origin: () => number): void {
  const { get, value } = Object.getOwnPropertyDescriptor(globalThis, "performance") as PropertyDescriptor;
  let replaced: object | undefined;
  const replace = (): object => {
    replaced = (value ?? get?.call(globalThis)) as object;
    Object.defineProperty(replaced, "now", { value: () => look() / 1000, writable: true, configurable: true });
    Object.defineProperty(replaced, "timeOrigin", { get: origin, configurable: true });
    return replaced;
  };
  Object.defineProperty(globalThis, "performance", {
    get: () => replaced ?? replace(),
    set: (mine: object) => {
      replaced = mine;
    },
    configurable: true,
    enumerable: true,
  });
}
