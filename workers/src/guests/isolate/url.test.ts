import { describe, expect, it } from "vitest";
import { nodeValue, useGuest } from "../../../testing/guest.ts";

const guest = useGuest();

const LIVE = {
  "a change of searchParams shows in the URL": `
    const url = new URL("https://user@host:8080/path?a=1#hash");
    url.searchParams.append("b", "2 & 3"); url.searchParams.set("a", "é");
    return [url.href, url.search, String(url), JSON.stringify({ url })]`,
  "deleting the last one takes the question mark along": `
    const url = new URL("https://host/?a=1&a=2"); url.searchParams.delete("a"); return [url.href, url.search]`,
  "deleting one value of several leaves the others": `
    const url = new URL("https://host/?a=1&a=2&b=1"); url.searchParams.delete("a", "1"); return url.href`,
  "sorting shows in the URL, and is stable": `
    const url = new URL("https://host/?b=1&a=2&b=0&a=1"); url.searchParams.sort(); return url.href`,
  "a change of search shows in searchParams, also in a reference held before": `
    const url = new URL("https://host/?a=1"); const held = url.searchParams;
    url.search = "?c=3&d=4&c=5";
    return [[...held], held === url.searchParams, held.get("a"), held.getAll("c"), held.size]`,
  "a change of href shows in searchParams": `
    const url = new URL("https://host/?a=1"); const held = url.searchParams; url.href = "https://other/?b=2#c";
    return [[...held], url.host]`,
  "an empty search empties searchParams": `
    const url = new URL("https://host/?a=1"); const held = url.searchParams; url.search = ""; return [[...held], url.href]`,
  "an href that is refused changes nothing": `
    const url = new URL("https://host/?a=1"); const held = url.searchParams; let name;
    try { url.href = "nonsense" } catch (error) { name = error.name }
    return [name, url.href, [...held]]`,
  "a fragment or a path leaves the query as it was written": `
    const url = new URL("https://host/?a=%20b+c~"); const held = url.searchParams;
    url.hash = "x"; url.pathname = "/y"; return [url.href, held.get("a")]`,
  "reading searchParams alone does not rewrite the query": `
    const url = new URL("https://host/?a=%20b&&c"); return [[...url.searchParams], url.href]`,
  "two URLs share nothing": `
    const [one, two] = [new URL("https://host/?a=1"), new URL("https://host/?a=1")];
    one.searchParams.set("a", "2"); return [one.href, two.href, two.searchParams.get("a")]`,
};

const FORMS = [
  "",
  "undefined",
  "null",
  '""',
  '"?a=1&b=2"',
  '"a=1&a=%C3%A9&b=+&c"',
  '"&&a&=b&c="',
  '{ a: 1, b: "x y", c: true, d: undefined }',
  "{}",
  '[["a", "1"], ["a", 2]]',
  "[]",
  'new Map([["k", "v"]])',
  'new URLSearchParams("a=1&a=2")',
  'new URL("https://host/?q=1").searchParams',
  '(function* () { yield ["g", "1"]; yield new Set(["h", "2"]) })()',
  "7",
];

const PLAIN = {
  "relative addresses": 'return new URL("../d?e#f", "https://host/a/b/c").href',
  "the parts of an address": `
    const { origin, protocol, username, host, hostname, port, pathname, hash } = new URL("http://u:p@Ho.st:81/a b#c");
    return { origin, protocol, username, host, hostname, port, pathname, hash }`,
  "names in other scripts": 'return new URL("https://exämple.com/ü").href',
  "URL.parse": `
    const parts = (url) => url === null ? null : [url.href, url instanceof URL, url.searchParams.get("a")];
    return [URL.parse("https://h/?a=1"), URL.parse("no"), URL.parse("../x", "https://h/a/b"), URL.parse("x", "no")].map(parts)`,
  canParse: 'return [URL.canParse("https://a"), URL.canParse("a"), URL.canParse("a", "https://b")]',
  "iteration over parameters": `
    const params = new URLSearchParams("a=1&b=2&a=3"); const each = [];
    params.forEach((value, name) => each.push([name, value]));
    return [each, [...params.keys()], [...params.values()], [...params.entries()], params.has("a", "3"), params.has("a", "4")]`,
  "what kind of thing it is": `
    const url = new URL("https://host"); class Own extends URLSearchParams {}
    return [url instanceof URL, url.searchParams instanceof URLSearchParams, new Own("a=1").get("a"), URLSearchParams.name]`,
};

describe("URL and URLSearchParams do in a guest what they do in Node", () => {
  it.each(Object.entries({ ...LIVE, ...PLAIN }))("%s", async (_, code) => {
    expect(await guest.value(code)).toEqual(await nodeValue(code));
  });

  it.each(FORMS)("new URLSearchParams(%s)", async (form) => {
    const code = `const params = new URLSearchParams(${form}); return [[...params], params.toString(), params.size]`;
    expect(await guest.value(code)).toEqual(await nodeValue(code));
  });

  it.each(['[["a"]]', '[["a", "b", "c"]]', "[1]"])("new URLSearchParams(%s) is refused", async (form) => {
    const code = `try { return [...new URLSearchParams(${form})].length } catch (error) { return error.name }`;
    expect(await guest.value(code)).toEqual(await nodeValue(code));
  });

  it.each(['"nonsense"', '""', '"//host"', '"https://"', '"a", "b"'])("new URL(%s) is a TypeError", async (form) => {
    const code = `try { return new URL(${form}).href } catch (error) { return error instanceof TypeError }`;
    expect(await guest.value(code)).toBe(true);
  });
});
