import { describe, expect, it } from "vitest";
import { nodeValue, useGuest } from "../../../testing/guest.ts";

const guest = useGuest();

/** `attempt` gives a value or the name of what was thrown. */
const ATTEMPT = "const attempt = (run) => { try { return run() } catch (error) { return [error.name] } };";

const CASES = {
  "structuredClone: values": `
    const copy = structuredClone({ a: [1, , "x"], m: new Map([[1, new Set([2])]]), d: new Date(5), r: /a/gi, n: null, b: true });
    return [copy.a.length, 1 in copy.a, copy.m.get(1).has(2), copy.d.getTime(), String(copy.r), copy.n, copy.b]`,
  "structuredClone: cycles and shared references stay what they are": `
    const shared = {}; const value = { one: shared, two: shared }; value.self = value;
    const copy = structuredClone(value); return [copy.self === copy, copy.one === copy.two, copy.one !== shared]`,
  "structuredClone: bytes are copied": `
    const bytes = new Uint8Array([1, 2]); const copy = structuredClone(bytes); copy[0] = 9; return [bytes[0], copy[0], copy.length]`,
  "structuredClone: errors": `
    const copy = structuredClone(new RangeError("x")); return [copy instanceof Error, copy.name, copy.message]`,
  "structuredClone: functions and symbols are refused": `
    return [attempt(() => structuredClone(() => 1)), attempt(() => structuredClone({ a: Symbol() }))]`,
  "TextEncoder: UTF-8, with a lone surrogate replaced": `
    return [...new TextEncoder().encode("a\\0é\\u20ac\\u{1f600}\\ud800z")]`,
  "TextEncoder: encodeInto stops before a character that does not fit": `
    const target = new Uint8Array(4); return [new TextEncoder().encodeInto("aé\\u20ac", target), [...target]]`,
  "TextDecoder: broken bytes are replaced, or refused when fatal": `
    const broken = new Uint8Array([0x61, 0xff, 0xe2, 0x82, 0x62]);
    return [new TextDecoder().decode(broken), attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(broken))]`,
  "TextDecoder: the byte order mark goes, unless asked for": `
    const bytes = new Uint8Array([0xef, 0xbb, 0xbf, 0x61]);
    return [new TextDecoder().decode(bytes), new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).length]`,
  "TextDecoder: a character split over two pieces of a stream": `
    const decoder = new TextDecoder(); const two = (bytes, stream) => decoder.decode(new Uint8Array(bytes), { stream });
    return two([0xf0, 0x9f], true) + two([0x98, 0x80], true) + two([0x61], false)`,
  "TextDecoder: takes buffers and views": `
    const { buffer } = new Uint8Array([97, 98, 99]);
    return [new TextDecoder().decode(buffer), new TextDecoder().decode(new DataView(buffer, 1, 1)), new TextDecoder().decode()]`,
  "btoa and atob: there and back": `
    const bytes = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join("");
    return [btoa(bytes), atob(btoa(bytes)) === bytes, btoa(""), btoa("a"), btoa("ab"), btoa(1)]`,
  "atob: white space and missing padding are fine": 'return [atob(" aG k= "), atob("aGk"), atob("")]',
  "btoa and atob: what cannot be is an InvalidCharacterError": `
    return [attempt(() => btoa("\\u20ac")), attempt(() => atob("a")), attempt(() => atob("a*b=")), attempt(() => atob("aGk=="))]`,
  "crypto: fills the views that it may": `
    const view = new Uint16Array(new ArrayBuffer(8), 2, 2); const same = crypto.getRandomValues(view) === view;
    return [same, [...new Uint8Array(view.buffer)].filter((byte, i) => (i < 2 || i > 5) && byte !== 0),
      attempt(() => crypto.getRandomValues(new Float32Array(1))), attempt(() => crypto.getRandomValues(new DataView(new ArrayBuffer(1)))),
      attempt(() => crypto.getRandomValues({})), attempt(() => crypto.getRandomValues(new Uint8Array(65537)))]`,
  "crypto: a UUID is of version 4": `
    return Array.from({ length: 20 }, () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()))`,
};

describe("a guest's web platform does what Node's does", () => {
  it.each(Object.entries(CASES))("%s", async (_, code) => {
    expect(await guest.value(ATTEMPT + code)).toEqual(await nodeValue(ATTEMPT + code));
  });
});

describe("a guest's own world", () => {
  it("lives in UTC, whatever the host's zone is", async () => {
    expect(await guest.value("return [new Date(0).getTimezoneOffset(), new Date(2020, 0, 1).getTime()]")).toEqual([
      0, 1_577_836_800_000,
    ]);
  });

  it("has a clock that moves when it is looked at, so that waiting for it in a loop ends", async () => {
    expect(await guest.value("const until = Date.now() + 50; while (Date.now() < until); return 1")).toBe(1);
  });
});
