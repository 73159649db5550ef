import { BOX_BYTES, BOX_FLOATS, BOX_WORDS } from "../javascript/box.ts";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS } from "../javascript/call-limits.ts";
import { makeConsole } from "./console.ts";
import { makeErrors, tameErrors, type Errors } from "../javascript/errors.ts";
import { makeInspect, type Inspect } from "./inspect.ts";
import { captureIntrinsics, type Intrinsics } from "../javascript/intrinsics.ts";
import { makeRandom } from "../javascript/random.ts";
import { makeTimers } from "../javascript/timers.ts";
import { makeTools } from "../javascript/tools.ts";
import { installUrl } from "./url.ts";

/** What the host calls, by name; it takes these out of the boot image and the guest never sees them. */
export const GLUE_ENTRIES = ["parse", "serialize", "describe", "fire", "settle"] as const;
export type GlueEntry = (typeof GLUE_ENTRIES)[number];

/** What the glue calls. Host functions are known to the engine by the first letter of their names. */
export const HOST_FUNCTIONS = { emit: "e", call: "c" } as const;

/**
 * The glue as text for the VM: an expression that gives a function of the host functions. Functions are turned to
 * text here, and not read from a file, so that sources and the built tree work alike.
 */
export function glueSource(): string {
  return `(function (emit, call) { "use strict";
(${String(tameErrors)})();
const I = (${String(captureIntrinsics)})();
const buffer = new ArrayBuffer(${BOX_BYTES});
const floats = new Float64Array(buffer);
const words = new Uint32Array(buffer);
(${String(installUrl)})();
const errors = (${String(makeErrors)})(I);
const inspect = (${String(makeInspect)})(I, errors);
const timers = (${String(makeTimers)})(I, floats, ${BOX_FLOATS.elapsed}, ${BOX_FLOATS.real}, ${BOX_FLOATS.wake}, ${BOX_FLOATS.due});
const tools = (${String(makeTools)})(I, errors, call, ${CALL_INPUT_CHARS}, ${CALL_PATH_CHARS});
const random = (${String(makeRandom)})(I, words, ${BOX_WORDS.random}, ${BOX_WORDS.crypto});
const performanceNow = performance.now.bind(performance);
const console = (${String(makeConsole)})(I, inspect, emit, performanceNow);
(${String(installGlobals)})(I, console, timers.globals, random, tools.tools, floats, ${BOX_FLOATS.start});
const entries = (${String(makeEntries)})(I, errors, inspect);
return { __proto__: null, buffer, fire: timers.fire, settle: tools.settle, parse: entries.parse,
  serialize: entries.serialize, describe: entries.describe };
})`;
}

function installGlobals(
  I: Intrinsics,
  console: object,
  timers: Record<string, unknown>,
  random: ReturnType<typeof makeRandom>,
  tools: object,
  floats: Float64Array,
  START: number,
): void {
  const define = (target: object, key: string, value: unknown) => I.define(target, key, value, false);
  define(globalThis, "console", console);
  define(globalThis, "crypto", random.crypto);
  define(globalThis, "tools", tools);
  define(Math, "random", random.random);
  const names = I.ownKeys(timers) as string[];
  for (let i = 0; i < names.length; i++) define(globalThis, names[i] as string, timers[names[i] as string]);
  // The engine's own has a time origin of 0 that cannot be changed.
  const { now } = performance;
  define(globalThis, "performance", {
    now,
    get timeOrigin() {
      return floats[START];
    },
  });
}

function makeEntries(I: Intrinsics, errors: Errors, inspect: Inspect) {
  return {
    parse: (text: string): unknown => I.parse(text),
    serialize: (value: unknown): string | undefined => I.stringify(value),
    /** What a person is told about a thrown value, as JSON: nothing the guest threw reaches the host as an object. */
    describe: (thrown: unknown): string => {
      // By hand, text by text: see stringify.
      const told = (key: string, text: string) => '"' + key + '":' + I.stringify(text);
      try {
        if (!errors.isError(thrown)) return "{" + told("message", "the program threw " + inspect(thrown)) + "}";
        const code = I.weakMapGet<string | undefined>(I.toolErrors, thrown);
        const name = told("name", errors.text(thrown, "name"));
        const message = told("message", errors.head(thrown));
        const stack = told("stack", errors.frames(thrown));
        return "{" + name + "," + message + "," + stack + (code === undefined ? "" : "," + told("code", code)) + "}";
      } catch {
        return "{" + told("message", "the program threw a value that cannot be looked at") + "}";
      }
    },
  };
}
