import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "@airlock/shared/runtime";
import { settleTree, type TreeBounds } from "./settle-tree.ts";
import { SharedWork } from "./shared-work.ts";

/** Folders that are made once, by their keys, and never changed. Several workers of a machine may share them. */
export interface LayerStore {
  /**
   * The folder of this key; where there is none yet, `build` makes it, and answers the folder (below the one that it is
   * given) whose content it is to be. It stays until it is released. Whatever happens, no half of one is ever found.
   */
  take(key: string, build: Build, signal: AbortSignal): Promise<TakenLayer>;
  /** A folder to work in, which is gone afterwards. */
  within<T>(work: (folder: string) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type Build = (folder: string, signal: AbortSignal) => Promise<string>;

export interface TakenLayer {
  readonly path: string;
  release(): void;
}

export interface LayerStoreOptions {
  readonly folder: string;
  readonly log: Logger;
  /** Of one layer. */
  readonly bounds: TreeBounds;
  /** Of all of them. */
  readonly maxBytes: number;
}

/** A layer in use says so this often, and one that has not for much longer may be deleted. */
const TELL_MS = 60_000;
const FORGOTTEN_MS = 10 * TELL_MS;
const OLD_MS = 30 * 24 * 3600_000;
/** Longer than anything is built. */
const ABANDONED_MS = 2 * 3600_000;

export function createLayerStore({ folder, log, bounds, maxBytes }: LayerStoreOptions): LayerStore {
  const layers = path.join(folder, "layers");
  const building = path.join(folder, "building");
  /** Of each layer one file: its size, and when it was last in use. */
  const uses = path.join(folder, "uses");
  const held = new Map<string, number>();
  const work = new SharedWork<void>();
  const teller = setInterval(() => {
    for (const key of held.keys()) void tellUse(key).catch(() => undefined);
  }, TELL_MS);
  teller.unref();
  let pruning: Promise<void> | null = null;

  const at = (key: string): string => path.join(layers, key);
  const exists = (key: string): Promise<boolean> =>
    stat(at(key)).then(
      () => true,
      () => false,
    );
  const tellUse = (key: string): Promise<void> => utimes(path.join(uses, key), new Date(), new Date());

  async function within<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const own = path.join(building, randomUUID());
    await mkdir(own, { recursive: true });
    try {
      return await work(own);
    } finally {
      await rm(own, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  async function make(key: string, build: Build, signal: AbortSignal): Promise<void> {
    await Promise.all([layers, uses].map((each) => mkdir(each, { recursive: true })));
    await within(async (own) => {
      const content = await build(own, signal);
      const { bytes, dropped } = await settleTree(content, bounds);
      if (dropped.length > 0) log.info({ layer: key, dropped }, "left out of a layer what no sandbox can be given");
      signal.throwIfAborted();
      await writeFile(path.join(uses, key), String(bytes));
      try {
        await rename(content, at(key));
      } catch (error) {
        // Another worker was first.
        if (!(await exists(key))) throw error;
      }
    });
    void prune();
  }

  async function take(key: string, build: Build, signal: AbortSignal): Promise<TakenLayer> {
    held.set(key, (held.get(key) ?? 0) + 1);
    const release = once(() => {
      const left = (held.get(key) ?? 1) - 1;
      if (left === 0) held.delete(key);
      else held.set(key, left);
    });
    try {
      // Told before it is looked for: see `prune`.
      await tellUse(key).catch(() => undefined);
      if (!(await exists(key))) await work.do(key, (stop) => make(key, build, stop), signal);
      return { path: at(key), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  function prune(): Promise<void> {
    return (pruning ??= pruneOnce()
      .catch((error: unknown) => log.warn({ err: error }, "the cache of layers could not be tidied"))
      .finally(() => (pruning = null)));
  }

  async function pruneOnce(): Promise<void> {
    // What a worker was making when it was killed; and what was told of layers that are gone for long.
    await removeOlder(building, ABANDONED_MS);
    await removeOlder(uses, 2 * OLD_MS);
    const known = await Promise.all((await readdir(layers)).map(async (key) => ({ key, ...(await useOf(key)) })));
    let total = known.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { key, bytes, usedAt } of known.toSorted((a, b) => a.usedAt - b.usedAt)) {
      const isOld = usedAt < Date.now() - OLD_MS;
      if ((total <= maxBytes && !isOld) || !(await remove(key))) continue;
      total -= bytes;
      log.info({ layer: key, bytes }, "deleted a layer that nobody uses");
    }
  }

  async function useOf(key: string): Promise<{ bytes: number; usedAt: number }> {
    const file = path.join(uses, key);
    try {
      const [text, { mtimeMs }] = await Promise.all([readFile(file, "utf8"), stat(file)]);
      return { bytes: Number(text), usedAt: mtimeMs };
    } catch {
      await writeFile(file, "0");
      return { bytes: 0, usedAt: Date.now() };
    }
  }

  /** Moved away first: whoever took it meanwhile has said so, and it is moved back. */
  async function remove(key: string): Promise<boolean> {
    const inUse = async () => held.has(key) || (await useOf(key)).usedAt > Date.now() - FORGOTTEN_MS;
    if (await inUse()) return false;
    return within(async (own) => {
      const away = path.join(own, key);
      await rename(at(key), away);
      if (!(await inUse())) return true;
      await rename(away, at(key)).catch(() => undefined);
      return false;
    });
  }

  return {
    take,
    within,
    async close() {
      clearInterval(teller);
      await pruning;
    },
  };
}

async function removeOlder(folder: string, ageMs: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const { mtimeMs } = await stat(path.join(folder, name)).catch(() => ({ mtimeMs: Date.now() }));
    if (mtimeMs < Date.now() - ageMs) await rm(path.join(folder, name), { recursive: true, force: true });
  }
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}
