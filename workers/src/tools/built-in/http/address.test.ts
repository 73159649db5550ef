import type { LookupAddress } from "node:dns";
import { describe, expect, it } from "vitest";
import { addressFault } from "./address.ts";
import { findTarget, type Reach, urlFault } from "./target.ts";

const signal = new AbortController().signal;

/** Resolves nothing by itself: these tests send no packet anywhere. */
function reach(addresses: readonly string[] = [], allowPrivate: readonly string[] = []): Reach {
  const found = addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
  return { allowPrivate: new Set(allowPrivate), resolve: async () => found };
}

describe("an address", () => {
  it.each([
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "unspecified"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["169.254.169.254", "link-local"],
    ["100.64.0.1", "shared (CGNAT)"],
    ["100.100.100.200", "shared (CGNAT)"],
    ["168.63.129.16", "a cloud's own"],
    ["192.0.0.192", "reserved"],
    ["192.0.2.1", "for documentation"],
    ["192.88.99.1", "reserved"],
    ["198.18.0.1", "reserved"],
    ["198.19.255.255", "reserved"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.255", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::127.0.0.1", "IPv4 in disguise"],
    ["::ffff:127.0.0.1", "IPv4 in disguise"],
    ["::ffff:7f00:1", "IPv4 in disguise"],
    ["0:0:0:0:0:ffff:a00:1", "IPv4 in disguise"],
    ["::FFFF:10.0.0.1", "IPv4 in disguise"],
    ["::ffff:8.8.8.8", "IPv4 in disguise"],
    ["::ffff:0:127.0.0.1", "IPv4 in disguise"],
    ["64:ff9b::7f00:1", "IPv4 in disguise"],
    ["64:ff9b::169.254.169.254", "IPv4 in disguise"],
    ["64:ff9b:1::a00:1", "IPv4 in disguise"],
    ["2002:7f00:1::1", "IPv4 in disguise"],
    ["2a00:1450::5efe:10.0.0.1", "IPv4 in disguise"],
    ["2a00:1450::200:5efe:a00:1", "IPv4 in disguise"],
    ["2001:0:7f00:1::", "reserved"],
    ["2001:db8::1", "for documentation"],
    ["3fff::1", "for documentation"],
    ["fc00::1", "private"],
    ["fd00:ec2::254", "private"],
    ["fe80::1", "link-local"],
    ["febf::1", "link-local"],
    ["fec0::1", "reserved"],
    ["ff02::1", "multicast"],
    ["100::1", "reserved"],
    ["5f00::1", "reserved"],
    ["4000::1", "reserved"],
  ])("%s is %s", (address, reason) => {
    expect(addressFault(address)).toBe(reason);
  });

  it.each([
    "fe80::1%eth0",
    "2a00::1%1",
    "::1%lo",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "127.0.0.1.",
    "[::1]",
    "",
    "a",
  ])("spelt %j is none", (address) => {
    expect(addressFault(address)).toBe("not a plain address");
  });

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.1",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
  ])("%s is public", (address) => {
    expect(addressFault(address)).toBeNull();
  });
});

describe("a URL that says another host than it calls is refused", () => {
  it.each([
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1:80@example.com/",
    "http://example.com:pass@127.0.0.1/",
    "http://example.com%40127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:///127.0.0.1/",
    "http:///a@127.0.0.1/",
    "http://127.0.0.1\t/",
    "http://exam\nple.com/",
    " http://example.com/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[fe80::1%25eth0]/",
    "http://①②⑦.⓪.⓪.①/",
    "http://ⓔxample.com/",
    "http://example。com/",
    "http://exa%6dple.com/",
    "http://example.com:0443/",
    "http://example.com:99999/",
    "http://",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:6379/_INFO",
    "data:text/plain,x",
    "javascript:1",
    "//example.com/",
    "/etc/passwd",
    "",
  ])("%j", (url) => {
    expect(urlFault(url)).toBeTypeOf("string");
  });

  it.each([
    "http://example.com",
    "HTTPS://Example.COM:443/a%20b?q=a@b#f",
    "http://127.0.0.1:8080/",
    "http://[::1]:8080/",
    "https://xn--bcher-kva.example/",
    "http://localhost./",
    "http://example.com/@user",
    "http://example.com?x=http://127.0.0.1",
  ])("but not %j", (url) => {
    expect(urlFault(url)).toBeNull();
  });
});

describe("where a request goes is judged after resolution", () => {
  it.each([
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0/",
    "http://127.0.0.1./",
    "http://①②⑦.⓪.⓪.①/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[::]/",
  ])("an address in the URL, whatever its spelling: %s", async (url) => {
    await expect(findTarget(url, reach(["1.1.1.1"]), signal)).rejects.toMatchObject({ code: "TOOL_FAILED" });
  });

  it.each([
    [["127.0.0.1"]],
    [["1.1.1.1", "10.0.0.1"]],
    [["2606:4700::1", "::ffff:10.0.0.1"]],
    [["fe80::1%eth0"]],
    [[]],
  ])("a name that means %j", async (addresses) => {
    const refused = findTarget("http://name.example:81/", reach(addresses), signal);
    await expect(refused).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect(refused).rejects.not.toThrow(/10\.0\.0\.1/);
  });

  it("a public name keeps the addresses that were judged", async () => {
    const target = await findTarget("https://name.example/", reach(["1.1.1.1", "2606:4700::1"]), signal);
    expect(target.addresses.map((one) => one.address)).toEqual(["1.1.1.1", "2606:4700::1"]);
  });

  it.each([
    ["http://127.0.0.1:8080/", "127.0.0.1:8080", true],
    ["http://127.0.0.1:8081/", "127.0.0.1:8080", false],
    ["http://127.0.0.1/", "127.0.0.1:80", true],
    ["https://127.0.0.1/", "127.0.0.1:443", true],
    ["http://[::1]:8080/", "[::1]:8080", true],
    ["http://inner.example:80/", "inner.example:80", true],
    ["http://inner.example.:80/", "inner.example:80", false],
    ["http://notinner.example/", "inner.example:80", false],
  ])("%s with %s allowed: %s", async (url, allowed, expected) => {
    const found = findTarget(url, reach(["10.0.0.1"], [allowed]), signal).then(
      () => true,
      () => false,
    );
    expect(await found).toBe(expected);
  });

  it("a resolver that does not answer is left when the call is aborted", async () => {
    const controller = new AbortController();
    const stuck: Reach = { allowPrivate: new Set(), resolve: () => new Promise(() => {}) };
    const waiting = findTarget("http://name.example/", stuck, controller.signal);
    controller.abort(new Error("time is up"));
    await expect(waiting).rejects.toThrow("time is up");
  });

  it("a name that does not resolve is a coded failure", async () => {
    const lost = Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" });
    const failing: Reach = { allowPrivate: new Set(), resolve: () => Promise.reject(lost) };
    await expect(findTarget("http://name.example/", failing, signal)).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("ENOTFOUND"),
    });
  });
});
