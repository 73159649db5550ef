import type { Errors } from "./errors.ts";
import type { Intrinsics } from "./intrinsics.ts";

/** Sends a call to the host: the guest's number for it, the tool's path and the input as JSON text. */
export type SendCall = (id: number, path: string, input: string) => void;

/** What the host tells about a call, as the JSON text that `settle` takes. */
interface Settlement {
  readonly id: number;
  readonly ok: boolean;
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
  readonly meta: Record<string, unknown>;
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  promise: object;
  readonly path: string;
}

/**
 * `tools`: a proxy whose every property is a proxy, until one is called. The path and the JSON text leave the guest
 * together, so what is judged, shown and run is one and the same text, whatever the guest does to its own globals.
 */
export function makeTools(I: Intrinsics, errors: Errors, send: SendCall, MAX_INPUT: number, MAX_PATH: number) {
  const waiting = I.dictionary<Waiting>();
  let lastId = 0;

  const failure = (code: string, message: string) => {
    const error = new I.Error(message);
    I.define(error, "name", "ToolError", false);
    I.define(error, "code", code, true);
    I.weakMapSet(I.toolErrors, error, code);
    return error;
  };

  const serialize = (path: string, input: unknown): string => {
    let refused = false;
    const refuseUnsendable = (_key: string, value: unknown) => {
      const kind = typeof value;
      if (kind !== "function" && kind !== "symbol" && kind !== "bigint") return value;
      const error = failure("BAD_TOOL_INPUT", "a " + kind + " cannot be sent to a tool: the input is JSON");
      refused = true;
      throw error;
    };
    let text: string | undefined;
    try {
      text = input === undefined ? "{}" : I.stringify(input, refuseUnsendable);
    } catch (error) {
      if (refused) throw error;
      // Thrown by the engine, or by a getter or toJSON of the guest's: whatever it is, it is no tool's error.
      const why = typeof error === "object" && error !== null ? errors.text(error, "message") : "";
      throw failure("BAD_TOOL_INPUT", path + ": the input cannot be written as JSON: " + why);
    }
    if (text === undefined) throw failure("BAD_TOOL_INPUT", path + ": the input cannot be written as JSON");
    if (text.length <= MAX_INPUT) return text;
    const sizes = "the input has " + text.length + " characters of JSON; at most " + MAX_INPUT + " are sent";
    throw failure("BAD_TOOL_INPUT", sizes);
  };

  const call = (path: string, input: unknown) => {
    const entry = I.bare({ path } as Waiting);
    entry.promise = new I.Promise((resolve, reject) => {
      entry.resolve = resolve;
      entry.reject = reject;
    });
    let id = 0;
    try {
      if (path === "" || path.length > MAX_PATH) {
        throw failure(
          "UNKNOWN_TOOL",
          "a tool has a path, like tools.util.echo, of at most " + MAX_PATH + " characters",
        );
      }
      const text = serialize(path, input);
      // Nothing of the guest's runs from here on: ids are given in the order in which the host hears of the calls.
      id = ++lastId;
      waiting[id] = entry;
      send(id, path, text);
    } catch (error) {
      delete waiting[id];
      entry.reject(error);
    }
    return entry.promise;
  };

  const at = (path: string): object => {
    const proxy = new I.Proxy(
      () => {},
      I.bare({
        get: (_: unknown, key: PropertyKey) => {
          // What the language itself asks of a value, as in "await tools.x" or "" + tools.x. No tool has such a name.
          if (
            typeof key !== "string" ||
            key === "then" ||
            key === "toString" ||
            key === "valueOf" ||
            key === "toJSON"
          ) {
            return undefined;
          }
          return at(path === "" ? key : path + "." + key);
        },
        apply: (_: unknown, _self: unknown, args: unknown[]) => call(path, args.length > 0 ? args[0] : undefined),
        set: () => false,
        defineProperty: () => false,
        deleteProperty: () => false,
        setPrototypeOf: () => false,
        preventExtensions: () => false,
        has: () => false,
      }),
    );
    I.weakMapSet(I.toolPaths, proxy, path);
    return proxy;
  };

  /** Called by the host; the text is a Settlement. */
  const settle = (text: string) => {
    const told = I.bare(I.parse(text) as Settlement);
    const entry = waiting[told.id];
    if (entry === undefined) return;
    delete waiting[told.id];
    I.fix(entry.promise, "meta", told.meta);
    if (told.ok) return entry.resolve(told.value);
    const error = failure(I.String(told.code), I.String(told.message));
    I.define(error, "path", entry.path, true);
    I.fix(error, "meta", told.meta);
    entry.reject(error);
  };

  return { tools: at(""), settle };
}
