import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { ToolError } from "../../tool-error.ts";
import { addressFault } from "./address.ts";

/** All addresses of a name, as the system knows them. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

export interface Reach {
  /** `host:port` that may be anywhere. */
  readonly allowPrivate: ReadonlySet<string>;
  readonly resolve: Resolve;
}

/** Where a request goes: the addresses have been judged, and the connection is made to one of them and no other. */
export interface Target {
  readonly url: URL;
  readonly host: string;
  readonly addresses: readonly LookupAddress[];
}

const AUTHORITY = /^https?:\/\/([^/?#]*)/i;
/** What a URL is written with; parsers drop or rewrite the rest (tabs, backslashes, `ⓔxample`). */
const PLAIN = /^[\x21-\x5b\x5d-\x7e]+$/;

/**
 * What is wrong with a URL, or null. Parsers forgive much: `http:host`, `http:///host`, `http://0x7f.1`, a user name
 * that looks like a host. The person who approves the call sees the text, so the text must name the host that is called.
 */
export function urlFault(text: string): string | null {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "is neither http nor https";
  if (url.username !== "" || url.password !== "") return "has a user name in it; use the header Authorization";
  if (!PLAIN.test(text)) return "has characters that a URL does not; percent-encode them (a host: punycode)";
  const written = AUTHORITY.exec(text)?.[1]?.toLowerCase();
  if (written !== url.host && written !== `${url.host}:${portOf(url)}`) {
    return `does not name its host plainly: write ${url.protocol}//${url.host}`;
  }
  return null;
}

export async function findTarget(text: string, reach: Reach, signal: AbortSignal): Promise<Target> {
  const url = new URL(text);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const family = isIP(host);
  const addresses = family === 0 ? await resolveName(host, reach.resolve, signal) : [{ address: host, family }];
  if (!reach.allowPrivate.has(`${url.hostname}:${portOf(url)}`)) {
    // One bad address among good ones is how rebinding begins.
    for (const { address } of addresses) {
      const fault = addressFault(address);
      // Without the address: what a name means inside the operator's network is not the guest's business.
      if (fault !== null) throw new ToolError(`${url.host} is not on the public internet: its address is ${fault}`);
    }
  }
  return { url, host, addresses };
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

async function resolveName(host: string, resolve: Resolve, signal: AbortSignal): Promise<LookupAddress[]> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    const found = await Promise.race([resolve(host), aborted]);
    if (found.length === 0) throw new ToolError(`${host} has no address`);
    return found;
  } catch (error) {
    if (signal.aborted || error instanceof ToolError) throw error;
    throw new ToolError(`${host} cannot be resolved (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
