/**
 * The engine's URL extension parses by the standard but leaves three things out: `URL.searchParams`, `URL.parse`, and
 * every argument of `URLSearchParams` but a string. Only the guest itself relies on these, so they may use what a guest can replace.
 */
export function installUrl(): void {
  interface NativeParams {
    append(name: string, value: string): void;
    delete(name: string, value?: string): void;
    set(name: string, value: string): void;
    sort(): void;
    keys(): Iterable<string>;
    toString(): string;
  }
  type Pairs = Iterable<Iterable<unknown>> | Record<string, unknown>;
  const scope = globalThis as unknown as {
    URL: { prototype: object };
    URLSearchParams: new (text: string) => NativeParams;
  };
  const Native = scope.URLSearchParams;
  const url = scope.URL.prototype;
  const paramsOf = new WeakMap<object, Params>();
  const search = Reflect.getOwnPropertyDescriptor(url, "search") as Required<PropertyDescriptor>;

  const pairsOf = (init: Pairs): unknown[][] => {
    if (typeof (init as Iterable<unknown>)[Symbol.iterator] !== "function") return Object.entries(init);
    return Array.from(init as Iterable<Iterable<unknown>>, (pair) => {
      const both = Array.from(pair);
      if (both.length !== 2) throw new TypeError("each pair of URLSearchParams needs a name and a value");
      return both;
    });
  };

  class Params extends Native {
    #owner: object | null = null;

    constructor(init: string | number | Pairs = "") {
      const pairs = typeof init === "object" && init !== null ? pairsOf(init) : null;
      super(pairs === null ? String(init as string | number) : "");
      for (const [name, value] of pairs ?? []) super.append(String(name), String(value));
    }

    /** The owner's query has changed: say the same. */
    static follow(owner: object): Params {
      const text = search.get.call(owner) as string;
      let params = paramsOf.get(owner);
      if (params === undefined) {
        params = new Params(text);
        params.#owner = owner;
        paramsOf.set(owner, params);
      } else if ("?" + params.toString() !== text) {
        for (const name of new Set(params.keys())) params.#native("delete", name);
        for (const [name, value] of new Params(text) as unknown as Iterable<[string, string]>) {
          params.#native("append", name, value);
        }
      }
      return params;
    }

    #native(method: "append" | "delete" | "set" | "sort", ...args: string[]): void {
      (Native.prototype[method] as (...args: string[]) => void).apply(this, args);
    }

    #change(method: "append" | "delete" | "set" | "sort", ...args: string[]): void {
      this.#native(method, ...args);
      if (this.#owner !== null) search.set.call(this.#owner, this.toString());
    }

    override append(name: string, value: string): void {
      this.#change("append", name, value);
    }
    override delete(name: string, ...value: string[]): void {
      this.#change("delete", name, ...value);
    }
    override set(name: string, value: string): void {
      this.#change("set", name, value);
    }
    override sort(): void {
      this.#change("sort");
    }
  }

  const hidden = { writable: true, enumerable: false, configurable: true };
  Object.defineProperty(Params, "name", { value: "URLSearchParams", configurable: true });
  Object.defineProperty(globalThis, "URLSearchParams", { value: Params, ...hidden });
  const { parse } = {
    parse(address: unknown, base?: unknown): URL | null {
      try {
        return base === undefined ? new URL(address as string) : new URL(address as string, base as string);
      } catch {
        return null;
      }
    },
  };
  Object.defineProperty(URL, "parse", { value: parse, writable: true, enumerable: true, configurable: true });
  Object.defineProperty(url, "searchParams", {
    get(this: object) {
      return Params.follow(this);
    },
    enumerable: true,
    configurable: true,
  });
  for (const key of ["search", "href"]) {
    const { get, set } = Reflect.getOwnPropertyDescriptor(url, key) as Required<PropertyDescriptor>;
    Object.defineProperty(url, key, {
      get,
      set(this: object, value: unknown) {
        set.call(this, value);
        if (paramsOf.has(this)) Params.follow(this);
      },
      enumerable: true,
      configurable: true,
    });
  }
}
