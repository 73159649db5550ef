import type { Inspect } from "./inspect.ts";
import type { Intrinsics } from "../javascript/intrinsics.ts";

/** 1 is stdout, 2 is stderr; the text goes to the host at once, so that order over both streams is kept. */
export type Emit = (stream: 1 | 2, text: string) => void;

export function makeConsole(I: Intrinsics, inspect: Inspect, emit: Emit, now: () => number): object {
  let indent = "";
  const counts = I.dictionary<number>();
  const timers = I.dictionary<number>();

  const plain = (value: unknown) => (typeof value === "string" ? value : inspect(value));
  const number = (value: unknown, parse: (text: string) => number) =>
    typeof value === "object" || typeof value === "function" || typeof value === "symbol"
      ? "NaN"
      : I.String(parse(I.String(value)));

  const directive = (kind: string, value: unknown): string | undefined => {
    if (kind === "s") return plain(value);
    if (kind === "d") return number(value, I.Number);
    if (kind === "i") return number(value, (text) => I.parseInt(text, 10));
    if (kind === "f") return number(value, I.parseFloat);
    if (kind === "j") return I.stringify(value);
    if (kind === "o" || kind === "O") return inspect(value);
    return kind === "c" ? "" : undefined;
  };

  const format = (args: unknown[]) => {
    let out = "";
    let next = 0;
    const first = args[0];
    if (typeof first === "string") {
      next = 1;
      let from = 0;
      for (let at = I.indexOf(first, "%"); at >= 0 && args.length > 1; at = I.indexOf(first, "%", at)) {
        const kind = I.slice(first, at + 1, at + 2);
        const value = next < args.length ? directive(kind, args[next]) : undefined;
        if (value === undefined && kind !== "%") {
          at += 1;
          continue;
        }
        out += I.slice(first, from, at) + (kind === "%" ? "%" : (value as string));
        if (kind !== "%") next++;
        at += 2;
        from = at;
      }
      out += I.slice(first, from);
    }
    for (; next < args.length; next++) out += (next === 0 ? "" : " ") + plain(args[next]);
    return out;
  };

  const print = (stream: 1 | 2, text: string) =>
    emit(stream, indent + (indent === "" ? text : I.replaceAll(text, "\n", "\n" + indent)) + "\n");
  const labelled = (label: unknown) => (label === undefined ? "default" : I.String(label));
  const elapsed = (label: string) => label + ": " + I.floor((now() - (timers[label] ?? now())) * 1000) / 1000 + "ms";

  const out = (...args: unknown[]) => print(1, format(args));
  const err = (...args: unknown[]) => print(2, format(args));
  const group = (...args: unknown[]) => {
    if (args.length > 0) print(1, format(args));
    indent += "  ";
  };
  return {
    log: out,
    info: out,
    debug: out,
    table: (value: unknown) => print(1, plain(value)),
    dir: (value: unknown) => print(1, inspect(value)),
    warn: err,
    error: err,
    trace: (...args: unknown[]) => print(2, "Trace: " + format(args)),
    assert: (truth: unknown, ...args: unknown[]) => {
      if (!truth) print(2, args.length === 0 ? "Assertion failed" : "Assertion failed: " + format(args));
    },
    group,
    groupCollapsed: group,
    groupEnd: () => {
      indent = I.slice(indent, 2);
    },
    count: (label: unknown) => {
      const key = labelled(label);
      counts[key] = (counts[key] ?? 0) + 1;
      print(1, key + ": " + counts[key]);
    },
    countReset: (label: unknown) => {
      delete counts[labelled(label)];
    },
    time: (label: unknown) => {
      timers[labelled(label)] = now();
    },
    timeLog: (label: unknown) => print(1, elapsed(labelled(label))),
    timeEnd: (label: unknown) => print(1, elapsed(labelled(label))),
  };
}
