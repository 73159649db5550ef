/**
 * Everything in this folder runs inside the guest's VM, as text (see `glue.ts`): each exported function must stand
 * alone, and may use nothing but its arguments and what `captureIntrinsics` took before any guest code ran. Guest
 * code may later replace `Promise.prototype.then`, `Array.prototype[Symbol.iterator]` or a setter at
 * `Array.prototype[0]`; so no `for…of`, no spread of arrays, no method call on a value, no lists with a prototype, no
 * record that is written to or read from where it may lack the key. Texts are put together with `+`, and of primitives
 * only: the engine compiles a template literal to a call of `String.prototype.concat`. `glue.test.ts` keeps watch.
 */
export type Intrinsics = ReturnType<typeof captureIntrinsics>;

export function captureIntrinsics() {
  type Uncurried = <R = unknown>(self: unknown, ...args: unknown[]) => R;
  const { bind, call } = Function.prototype;
  const uncurry = bind.bind(call as never) as unknown as (method: unknown) => Uncurried;
  const getter = (prototype: object, key: PropertyKey) =>
    uncurry(Reflect.getOwnPropertyDescriptor(prototype, key)?.get as unknown);
  const TypedArray = Reflect.getPrototypeOf(Uint8Array.prototype) as object;
  const slice = uncurry(String.prototype.slice);
  const indexOf = uncurry(String.prototype.indexOf);
  const { apply, ownKeys, getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor, defineProperty } = Reflect;
  const bare = <T extends object>(value: T): T => {
    setPrototypeOf(value, null);
    return value;
  };
  return {
    apply,
    ownKeys,
    getPrototypeOf,
    /** The same object with nothing behind it: a key that it lacks is undefined, whatever Object.prototype holds. */
    bare,
    descriptor: (target: object, key: PropertyKey): PropertyDescriptor | undefined => {
      const found = getOwnPropertyDescriptor(target, key);
      return found === undefined ? undefined : bare(found);
    },
    /** Gives an object a property that holds a value. False where the object refuses. */
    define: (target: object, key: PropertyKey, value: unknown, enumerable: boolean): boolean =>
      defineProperty(target, key, bare({ value, writable: true, enumerable, configurable: true })),
    /** The same, for good. */
    fix: (target: object, key: PropertyKey, value: unknown): boolean =>
      defineProperty(target, key, bare({ value, writable: false, enumerable: false, configurable: false })),
    isArray: Array.isArray,
    /**
     * For texts, and for values of the guest's. Never for an object of ours: the engine notes on a plain array where it
     * is, so that a setter on Array.prototype gets to see, and to change, what is being written.
     */
    stringify: JSON.stringify as (
      value: unknown,
      replacer?: (this: unknown, key: string, value: unknown) => unknown,
    ) => string,
    parse: JSON.parse,
    String,
    Number,
    Error,
    TypeError,
    Proxy,
    Promise,
    /** Errors that came from a tool, and their codes: a guest cannot make one that the host would take for such. */
    toolErrors: new WeakMap<object, string>(),
    /** The proxies below `tools`, and their paths: looking at one would be taken for a call. */
    toolPaths: new WeakMap<object, string>(),
    weakMapSet: uncurry(WeakMap.prototype.set),
    weakMapGet: uncurry(WeakMap.prototype.get),
    weakMapHas: uncurry(WeakMap.prototype.has),
    DOMException: (globalThis as { DOMException?: unknown }).DOMException as new (
      message: string,
      name: string,
    ) => Error,
    Uint8Array,
    floor: Math.floor,
    parseInt: Number.parseInt,
    parseFloat: Number.parseFloat,
    max: Math.max,
    /** A list that no prototype can meddle with. */
    list: <T>(): T[] => bare([] as T[]),
    dictionary: <T>(): Record<PropertyKey, T> => ({ __proto__: null }) as unknown as Record<PropertyKey, T>,
    slice: slice as (text: string, from: number, to?: number) => string,
    // Not `replaceAll`: that asks its pattern for `Symbol.replace`, which the guest may have put on `String.prototype`.
    replaceAll: (text: string, from: string, to: string) => {
      let out = "";
      let at = 0;
      for (;;) {
        const next = indexOf(text, from, at) as number;
        if (next < 0) return out + (slice(text, at) as string);
        out += (slice(text, at, next) as string) + to;
        at = next + from.length;
      }
    },
    indexOf: indexOf as (text: string, part: string, from?: number) => number,
    // By hand for the same reason.
    lines: (text: string): string[] => {
      const found = bare([] as string[]);
      let at = 0;
      for (;;) {
        const next = indexOf(text, "\n", at) as number;
        found[found.length] = slice(text, at, next < 0 ? text.length : next) as string;
        if (next < 0) return found;
        at = next + 1;
      }
    },
    charCode: uncurry(String.prototype.charCodeAt) as (text: string, at: number) => number,
    numberToString: uncurry(Number.prototype.toString),
    symbolToString: uncurry(Symbol.prototype.toString),
    functionToString: uncurry(Function.prototype.toString),
    regexpToString: uncurry(RegExp.prototype.toString),
    dateToISO: uncurry(Date.prototype.toISOString),
    dateGetTime: uncurry(Date.prototype.getTime),
    mapForEach: uncurry(Map.prototype.forEach),
    mapSize: getter(Map.prototype, "size"),
    setForEach: uncurry(Set.prototype.forEach),
    setSize: getter(Set.prototype, "size"),
    typedArrayName: getter(TypedArray, Symbol.toStringTag),
    typedArrayLength: getter(TypedArray, "length"),
    typedArrayBytes: getter(TypedArray, "byteLength"),
    typedArrayOffset: getter(TypedArray, "byteOffset"),
    typedArrayBuffer: getter(TypedArray, "buffer"),
    bufferBytes: getter(ArrayBuffer.prototype, "byteLength"),
    ErrorPrototype: Error.prototype,
    ObjectPrototype: Object.prototype,
    ArrayPrototype: Array.prototype,
    RegExpPrototype: RegExp.prototype,
    DatePrototype: Date.prototype,
    URLPrototype: URL.prototype,
    URLSearchParamsPrototype: URLSearchParams.prototype,
    paramsForEach: uncurry(URLSearchParams.prototype.forEach),
    URLSearchParams,
    /** What is shown of a URL, in Node's order. */
    urlParts: bare(
      [
        "href",
        "origin",
        "protocol",
        "username",
        "password",
        "host",
        "hostname",
        "port",
        "pathname",
        "search",
        "hash",
      ].map((key) => bare({ key, read: getter(URL.prototype, key) })),
    ),
    WeakMapPrototype: WeakMap.prototype,
    WeakSetPrototype: WeakSet.prototype,
    toStringTag: Symbol.toStringTag as symbol,
  };
}
