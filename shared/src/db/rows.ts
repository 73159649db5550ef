import { type RawBuilder, sql } from "kysely";

/** The SQL type of a column and its values, one a row. */
export type Column = readonly [type: string, values: readonly unknown[]];

/**
 * Rows given as parameters, to select from. A single row is written out: for arrays a kept plan expects ten rows, looks
 * dearer than a plan made anew, and so is never kept. Planning the main road's statements takes longer than running them.
 */
export function rowsOf(columns: readonly Column[]): RawBuilder<unknown> {
  const single = columns.every(([, values]) => values.length === 1);
  const cells = columns.map(([type, values]) =>
    single ? sql`${values[0]}::${sql.raw(type)}` : sql`${values}::${sql.raw(type)}[]`,
  );
  return single ? sql`(values (${sql.join(cells)}))` : sql`unnest(${sql.join(cells)})`;
}

/** The right side of `column = …` for one of the values, of which there are mostly one: see `rowsOf`. */
export function oneOf(type: string, values: readonly unknown[]): RawBuilder<unknown> {
  return values.length === 1 ? sql`${values[0]}::${sql.raw(type)}` : sql`any(${values}::${sql.raw(type)}[])`;
}
