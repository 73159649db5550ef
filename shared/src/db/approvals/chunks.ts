/** Approvals in one statement: the first of many tasks wake while the rest are still being settled. */
export const CHUNK = 1_000;

export function cut<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
