import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * What is not the public internet (IANA's special-purpose registries), by reason. Cloud metadata services live in
 * link-local, shared and unique-local space, and at one public address.
 */
const IPV4: readonly (readonly [reason: string, ...subnets: string[]])[] = [
  ["unspecified", "0.0.0.0/8"],
  ["loopback", "127.0.0.0/8"],
  ["private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  ["link-local", "169.254.0.0/16"],
  ["shared (CGNAT)", "100.64.0.0/10"],
  ["multicast", "224.0.0.0/4"],
  ["reserved", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"],
  ["for documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"],
  ["a cloud's own", "168.63.129.16/32"],
];

/** Of IPv6 only global unicast is public at all, and of that not these. */
const IPV6_PUBLIC = "2000::/3";
const IPV6: typeof IPV4 = [
  ["loopback", "::1/128"],
  ["unspecified", "::/128"],
  ["IPv4 in disguise", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"],
  ["private", "fc00::/7"],
  ["link-local", "fe80::/10"],
  ["multicast", "ff00::/8"],
  ["reserved", "2001::/23"],
  ["for documentation", "2001:db8::/32", "3fff::/20"],
];

/** ISATAP carries an IPv4 address in the last 32 bits, after this. */
const ISATAP = /(^|:)5efe:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/;

const ipv4 = IPV4.map(([reason, ...subnets]) => ({ reason, list: listOf(subnets, "ipv4") }));
const ipv6 = IPV6.map(([reason, ...subnets]) => ({ reason, list: listOf(subnets, "ipv6") }));
const ipv6Public = listOf([IPV6_PUBLIC], "ipv6");

/** Why an address (as a resolver gives it: no other spelling is taken) is not of the public internet, or null. */
export function addressFault(address: string): string | null {
  if (isIPv4(address)) return ipv4.find(({ list }) => list.check(address, "ipv4"))?.reason ?? null;
  if (!isIPv6(address) || address.includes("%")) return "not a plain address";
  const special = ipv6.find(({ list }) => list.check(address, "ipv6"));
  if (special !== undefined) return special.reason;
  if (!ipv6Public.check(address, "ipv6")) return "reserved";
  return ISATAP.test(spellOut(address)) ? "IPv4 in disguise" : null;
}

/** In the one spelling of URLs, which writes an IPv4 tail as hexadecimal. */
function spellOut(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function listOf(subnets: readonly string[], family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address, bits] = subnet.split("/") as [string, string];
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
