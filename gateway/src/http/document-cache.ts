interface Cache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

const MAX_ENTRIES = 500;
/** Documents with inlined data are sent once and may have megabytes: remembering them would only fill the memory. */
const MAX_KEY_CHARS = 10_000;

/** The least recently used entry leaves first. */
export function createDocumentCache<T>(): Cache<T> {
  const entries = new Map<string, T>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      if (key.length > MAX_KEY_CHARS) return;
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value as string);
    },
  };
}
