/** The first so many. */
export async function take<T>(items: AsyncIterable<T>, limit: number): Promise<T[]> {
  const taken: T[] = [];
  if (limit === 0) return taken;
  for await (const item of items) if (taken.push(item) >= limit) break;
  return taken;
}
