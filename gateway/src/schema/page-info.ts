import { type Noun, type Page, toCursor } from "../pagination.ts";
import { builder } from "./builder.ts";

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly startCursor: string | null;
  readonly endCursor: string | null;
}

export const PageInfoType = builder.objectRef<PageInfo>("PageInfo").implement({
  fields: (t) => ({
    hasNextPage: t.exposeBoolean("hasNextPage"),
    hasPreviousPage: t.exposeBoolean("hasPreviousPage"),
    startCursor: t.exposeString("startCursor", { nullable: true }),
    endCursor: t.exposeString("endCursor", { nullable: true }),
  }),
});

export function pageInfoOf(noun: Noun, { items, ...page }: Page<{ readonly id: string }>): PageInfo {
  const first = items[0];
  const last = page.lookedUpTo ?? items.at(-1)?.id;
  return {
    hasNextPage: page.hasNextPage,
    hasPreviousPage: page.hasPreviousPage,
    startCursor: first ? toCursor(noun, first.id) : null,
    endCursor: last ? toCursor(noun, last) : null,
  };
}
