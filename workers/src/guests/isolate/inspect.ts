import type { Errors } from "../javascript/errors.ts";
import type { Intrinsics } from "../javascript/intrinsics.ts";

export type Inspect = (value: unknown) => string;

/** Shows a value the way Node's `console.log` does, near enough for a person to read. Calls no getter but an error's. */
export function makeInspect(I: Intrinsics, errors: Errors): Inspect {
  const MAX_DEPTH = 2;
  const MAX_ITEMS = 100;
  const LINE = 72;

  interface Walk {
    readonly open: object[];
    /** Objects found to contain themselves, in the order found: `<ref *1>`. */
    readonly cyclic: object[];
  }

  const escaped = (text: string) => I.replaceAll(I.slice(I.stringify(text), 1, -1), '\\"', '"');

  const quote = (text: string) => (I.indexOf(text, "'") >= 0 ? I.stringify(text) : "'" + escaped(text) + "'");

  const isA = (value: object, prototype: object) => {
    let at = I.getPrototypeOf(value);
    for (let i = 0; at !== null && i < 100; i++) {
      if (at === prototype) return true;
      at = I.getPrototypeOf(at);
    }
    return false;
  };

  const brand = (read: (self: unknown) => unknown, value: object) => {
    try {
      return read(value);
    } catch {
      return undefined;
    }
  };

  /** The value of a data property, up the prototype chain: what a plain read gives, without running guest code. */
  const data = (value: object, key: PropertyKey): unknown => {
    let at: object | null = value;
    for (let i = 0; at !== null && i < 100; i++) {
      const descriptor = I.descriptor(at, key);
      if (descriptor !== undefined) return descriptor.value;
      at = I.getPrototypeOf(at);
    }
    return undefined;
  };

  const className = (value: object) => {
    const prototype = I.getPrototypeOf(value);
    if (prototype === null) return "[Object: null prototype]";
    const constructor = data(prototype, "constructor");
    const name = typeof constructor === "function" ? data(constructor, "name") : undefined;
    return typeof name === "string" ? name : "";
  };

  const primitive = (value: unknown) => {
    if (typeof value === "string") return quote(value);
    if (typeof value === "bigint") return I.String(value) + "n";
    if (typeof value === "symbol") return I.symbolToString<string>(value);
    return value === 0 && 1 / value < 0 ? "-0" : I.String(value);
  };

  const functionText = (value: object) => {
    const name = data(value, "name");
    const named = typeof name === "string" && name !== "";
    const isClass = I.slice(I.functionToString<string>(value), 0, 5) === "class";
    if (isClass) return "[class " + (named ? name : "(anonymous)") + "]";
    return named ? "[Function: " + name + "]" : "[Function (anonymous)]";
  };

  const errorText = (value: object) => {
    const frames = errors.frames(value);
    return frames === "" ? "[" + errors.head(value) + "]" : errors.head(value) + "\n" + frames;
  };

  const join = (prefix: string, open: string, parts: string[], close: string) => {
    const head = prefix === "" ? "" : prefix + " ";
    if (parts.length === 0) return head + open + close;
    let long = false;
    let total = 0;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as string;
      total += part.length + 2;
      long ||= I.indexOf(part, "\n") >= 0;
    }
    const separator = long || total > LINE ? ",\n  " : ", ";
    let body = "";
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as string;
      body += (i === 0 ? "" : separator) + (separator === ", " ? part : I.replaceAll(part, "\n", "\n  "));
    }
    const space = separator === ", " ? " " : "\n";
    return head + open + (space === " " ? " " : "\n  ") + body + space + close;
  };

  const push = (parts: string[], part: string) => {
    parts[parts.length] = part;
  };

  const isPlainKey = (key: string) => {
    for (let i = 0; i < key.length; i++) {
      const c = I.charCode(key, i);
      const letter = (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95 || c === 36;
      if (!letter && !(i > 0 && c >= 48 && c <= 57)) return false;
    }
    return key !== "";
  };

  const property = (value: object, key: PropertyKey, depth: number, walk: Walk) => {
    const descriptor = I.descriptor(value, key);
    if (descriptor === undefined || descriptor.enumerable !== true) return undefined;
    return shownKey(key) + ": " + propertyValue(descriptor, depth, walk);
  };

  const shownKey = (key: PropertyKey): string => {
    if (typeof key === "symbol") return I.replaceAll(escaped(I.symbolToString<string>(key)), "'", "\\'");
    return isPlainKey(key as string) ? (key as string) : quote(key as string);
  };

  const propertyValue = (descriptor: PropertyDescriptor, depth: number, walk: Walk) => {
    if (descriptor.get !== undefined) return descriptor.set === undefined ? "[Getter]" : "[Getter/Setter]";
    return descriptor.set === undefined ? show(descriptor.value, depth + 1, walk) : "[Setter]";
  };

  const isIndex = (key: PropertyKey) => typeof key === "string" && I.String(I.parseInt(key, 10)) === key;

  const properties = (value: object, depth: number, walk: Walk, parts: string[], skipIndices: boolean) => {
    const keys = I.ownKeys(value);
    let shown = 0;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as PropertyKey;
      if (skipIndices && isIndex(key)) continue;
      if (shown >= MAX_ITEMS) {
        push(parts, "... " + (keys.length - i) + " more properties");
        return;
      }
      const text = property(value, key, depth, walk);
      if (text === undefined) continue;
      push(parts, text);
      shown++;
    }
  };

  const items = (value: object, length: number, depth: number, walk: Walk, parts: string[]) => {
    let holes = 0;
    const flush = () => {
      if (holes > 0) push(parts, "<" + holes + " empty item" + (holes > 1 ? "s>" : ">"));
      holes = 0;
    };
    for (let i = 0; i < length; i++) {
      if (parts.length >= MAX_ITEMS || holes > 100_000) {
        flush();
        push(parts, "... " + (length - i) + " more item" + (length - i > 1 ? "s" : ""));
        return;
      }
      const descriptor = I.descriptor(value, I.String(i));
      if (descriptor === undefined) {
        holes++;
        continue;
      }
      flush();
      push(parts, descriptor.get ? "[Getter]" : show(descriptor.value, depth + 1, walk));
    }
    flush();
  };

  const collection = (value: object, depth: number, walk: Walk): string | undefined => {
    const parts = I.list<string>();
    const mapSize = brand(I.mapSize, value);
    if (mapSize !== undefined) {
      I.mapForEach(value, (item: unknown, key: unknown) => {
        if (parts.length < MAX_ITEMS) push(parts, show(key, depth + 1, walk) + " => " + show(item, depth + 1, walk));
      });
      return join(className(value) + "(" + (mapSize as number) + ")", "{", parts, "}");
    }
    const setSize = brand(I.setSize, value);
    if (setSize !== undefined) {
      I.setForEach(value, (item: unknown) => {
        if (parts.length < MAX_ITEMS) push(parts, show(item, depth + 1, walk));
      });
      return join(className(value) + "(" + (setSize as number) + ")", "{", parts, "}");
    }
    if (isA(value, I.URLSearchParamsPrototype) || isA(value, I.URLPrototype)) return address(value, depth, walk, parts);
    const typed = brand(I.typedArrayName, value);
    if (typed === undefined) return undefined;
    const length = I.typedArrayLength<number>(value);
    items(value, length, depth, walk, parts);
    return join((typed as string) + "(" + length + ")", "[", parts, "]");
  };

  /** Undefined where it only has the prototype of one. */
  const address = (value: object, depth: number, walk: Walk, parts: string[]): string | undefined => {
    try {
      if (isA(value, I.URLSearchParamsPrototype)) {
        I.paramsForEach(value, (item: string, name: string) => {
          if (parts.length < MAX_ITEMS) push(parts, quote(name) + " => " + quote(item));
        });
      } else {
        for (let i = 0; i < I.urlParts.length; i++) {
          const part = I.urlParts[i] as (typeof I.urlParts)[number];
          const text = part.read<string>(value);
          push(parts, part.key + ": " + quote(text));
          if (part.key !== "search") continue;
          push(parts, "searchParams: " + show(new I.URLSearchParams(text), depth + 1, walk));
        }
      }
    } catch {
      return undefined;
    }
    return join(className(value), "{", parts, "}");
  };

  const special = (value: object): string | undefined => {
    if (isA(value, I.DatePrototype)) {
      const time = brand(I.dateGetTime, value);
      if (time !== undefined) return time === time ? I.dateToISO<string>(value) : "Invalid Date";
    }
    if (isA(value, I.RegExpPrototype)) return I.regexpToString<string>(value);
    if (isA(value, I.WeakMapPrototype)) return "WeakMap { <items unknown> }";
    if (isA(value, I.WeakSetPrototype)) return "WeakSet { <items unknown> }";
    const bytes = brand(I.bufferBytes, value);
    return bytes === undefined ? undefined : "ArrayBuffer { byteLength: " + (bytes as number) + " }";
  };

  const object = (value: object, depth: number, walk: Walk): string => {
    const path = I.weakMapGet<string | undefined>(I.toolPaths, value);
    if (path !== undefined) return path === "" ? "[tools]" : "[tool " + path + "]";
    if (typeof value === "function") {
      const parts = I.list<string>();
      properties(value, depth, walk, parts, false);
      return parts.length === 0 ? functionText(value) : join(functionText(value), "{", parts, "}");
    }
    const known = special(value);
    if (known !== undefined) return known;
    const isArray = I.isArray(value);
    const isError = !isArray && errors.isError(value);
    if (depth > MAX_DEPTH && !isError) return "[" + (isArray ? "Array" : className(value) || "Object") + "]";
    const gathered = collection(value, depth, walk);
    if (gathered !== undefined) return gathered;
    const parts = I.list<string>();
    if (isArray) {
      // A proxy of an array may say anything.
      const told = data(value, "length");
      const length = typeof told === "number" ? told : 0;
      items(value, length, depth, walk, parts);
      properties(value, depth, walk, parts, true);
      const name = className(value);
      return join(name === "Array" ? "" : name + "(" + length + ")", "[", parts, "]");
    }
    if (isError) {
      const cause = I.descriptor(value, "cause");
      if (cause !== undefined) push(parts, "[cause]: " + show(cause.value, depth + 1, walk));
      properties(value, depth, walk, parts, false);
      return parts.length === 0 ? errorText(value) : join(errorText(value), "{", parts, "}");
    }
    properties(value, depth, walk, parts, false);
    const name = className(value);
    return join(name === "Object" ? "" : name, "{", parts, "}");
  };

  const indexIn = (list: object[], value: object) => {
    for (let i = 0; i < list.length; i++) if (list[i] === value) return i;
    return -1;
  };

  const show = (value: unknown, depth: number, walk: Walk): string => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return primitive(value);
    if (indexIn(walk.open, value) >= 0) {
      let at = indexIn(walk.cyclic, value);
      if (at < 0) {
        at = walk.cyclic.length;
        walk.cyclic[at] = value;
      }
      return "[Circular *" + (at + 1) + "]";
    }
    walk.open[walk.open.length] = value;
    const text = object(value, depth, walk);
    walk.open.length--;
    const at = indexIn(walk.cyclic, value);
    return at < 0 ? text : "<ref *" + (at + 1) + "> " + text;
  };

  return (value) => {
    try {
      return show(value, 0, { open: I.list<object>(), cyclic: I.list<object>() });
    } catch {
      // A proxy's trap threw: the value cannot be looked at, which is no reason to fail the program.
      return "[value that cannot be shown]";
    }
  };
}
