import type { Intrinsics } from "./intrinsics.ts";

export type Errors = ReturnType<typeof makeErrors>;

/**
 * The engine calls `Error.prepareStackTrace` for every error, those of this glue too, with the functions on the stack:
 * a guest would get at `settle` and at what makes tool errors. And it takes `Error.stackTraceLimit` for a number by
 * asking it. Both stay, the first without effect, the second for numbers only.
 */
export function tameErrors(): void {
  const limit = Reflect.getOwnPropertyDescriptor(Error, "stackTraceLimit") as Required<PropertyDescriptor>;
  const { get } = limit;
  const set = Function.prototype.call.bind(limit.set);
  const tame = { enumerable: false, configurable: true };
  Object.defineProperty(Error, "prepareStackTrace", { value: undefined, writable: true, ...tame });
  Object.defineProperty(Error, "stackTraceLimit", {
    get,
    set(this: unknown, value: unknown) {
      if (typeof value === "number") set(this, value);
    },
    ...tame,
  });
}

/** Reads errors for people, whatever the guest made of them. */
export function makeErrors(I: Intrinsics) {
  const isError = (value: unknown): value is object => {
    if (typeof value !== "object" || value === null) return false;
    let at = I.getPrototypeOf(value);
    for (let i = 0; at !== null && i < 100; i++) {
      if (at === I.ErrorPrototype) return true;
      at = I.getPrototypeOf(at);
    }
    return false;
  };

  const text = (error: object, key: string) => {
    try {
      const value = (error as Record<string, unknown>)[key];
      return typeof value === "string" ? value : "";
    } catch {
      return "";
    }
  };

  const head = (error: object) => {
    const name = text(error, "name");
    const message = text(error, "message");
    if (name === "") return message === "" ? "Error" : message;
    return message === "" ? name : name + ": " + message;
  };

  /** The stack without the frames of this glue, which are none of the author's business. */
  const frames = (error: object) => {
    const lines = I.lines(text(error, "stack"));
    let kept = "";
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] as string;
      const outer = I.indexOf(line, "airlock:") >= 0 || I.indexOf(line, "    at <eval> (task.") === 0;
      if (line !== "" && !outer) kept += kept === "" ? line : "\n" + line;
    }
    return kept;
  };

  return { isError, text, head, frames };
}
