interface Connection<T> {
  readonly edges: readonly { readonly node: T }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** The largest page that the gateway gives. */
export const PAGE = 100;

/** Every item of a list, one page at a time, each page only when it is needed. */
export async function* paged<T>(load: (after: string | null) => Promise<Connection<T>>): AsyncGenerator<T, void> {
  let after: string | null = null;
  for (;;) {
    const { edges, pageInfo }: Connection<T> = await load(after);
    for (const { node } of edges) yield node;
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor;
  }
}
