import { type Caller, type Database, findCaller } from "@airlock/shared/db";
import { hashKey } from "./key-hash.ts";

export interface Authenticator {
  /** Null: no key, or one that is unknown or revoked. Rejects when the database does not answer. */
  callerOf(authorization: string | undefined): Promise<Caller | null>;
  /** Drops revoked keys at once. */
  forget(keyIds: readonly string[]): void;
  /** Drops everything: messages about revocations may have been missed. */
  forgetAll(): void;
}

/** How long a revocation can go unnoticed when its message is lost. */
const TTL_MS = 5_000;
const MAX_CALLERS = 10_000;
/** Kept apart and small, so that a flood of made-up keys cannot push out the real ones. */
const MAX_STRANGERS = 1_000;
/** Longer than any key of ours: not worth hashing. */
const MAX_HEADER = 512;

interface Entry {
  readonly caller: Caller | null;
  readonly until: number;
}

export function createAuthenticator(db: Database): Authenticator {
  const callers = new Map<string, Entry>();
  const strangers = new Map<string, Entry>();
  const asking = new Map<string, Promise<Caller | null>>();
  let generation = 0;

  function remember(key: string, caller: Caller | null): void {
    const cache = caller === null ? strangers : callers;
    const limit = caller === null ? MAX_STRANGERS : MAX_CALLERS;
    // A Map keeps the order of insertion: the first is the oldest.
    if (cache.size >= limit) cache.delete(cache.keys().next().value as string);
    cache.set(key, { caller, until: Date.now() + TTL_MS });
  }

  async function ask(key: string, hash: Buffer): Promise<Caller | null> {
    const asked = generation;
    try {
      const caller = await findCaller(db, hash);
      // A key revoked while the question was under way must not be remembered as valid.
      if (asked === generation) remember(key, caller);
      return caller;
    } finally {
      asking.delete(key);
    }
  }

  function remembered(key: string): Entry | undefined {
    for (const cache of [callers, strangers]) {
      const entry = cache.get(key);
      if (entry && entry.until > Date.now()) return entry;
      cache.delete(key);
    }
    return undefined;
  }

  return {
    async callerOf(authorization) {
      const secret = bearerOf(authorization);
      if (secret === null) return null;
      const hash = hashKey(secret);
      const key = hash.toString("latin1");
      const entry = remembered(key);
      if (entry) return entry.caller;
      const known = asking.get(key) ?? ask(key, hash);
      asking.set(key, known);
      return known;
    },
    forget(keyIds) {
      generation += 1;
      asking.clear();
      for (const [key, { caller }] of callers) if (caller && keyIds.includes(caller.keyId)) callers.delete(key);
    },
    forgetAll() {
      generation += 1;
      asking.clear();
      callers.clear();
      strangers.clear();
    },
  };
}

function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length > MAX_HEADER) return null;
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null;
}
