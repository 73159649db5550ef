import pg from "pg";

const COLUMNS = `
  select c.relname as table, string_agg(
    '  ' || quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), E',\\n' order by a.attnum
  ) as columns
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname not like 'kysely\\_%'
  group by 1 order by 1`;

const CONSTRAINTS = `
  select conrelid::regclass::text as table,
    'alter table ' || conrelid::regclass || ' add constraint ' || quote_ident(conname) || ' '
      || pg_get_constraintdef(oid) || ';' as definition
  from pg_constraint
  where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid::regclass::text not like 'kysely\\_%'
  order by 1, contype desc, conname`;

const INDEXES = `
  select tablename as table, indexdef || ';' as definition from pg_indexes i
  where schemaname = 'public' and tablename not like 'kysely\\_%'
    and not exists (select from pg_constraint where conname = i.indexname)
  order by 1, indexname`;

/** The shape that all migrations together give, as SQL text: what a review reads. */
export async function dumpSchema(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ table: string; columns: string }>(COLUMNS);
    const constraints = await client.query<{ table: string; definition: string }>(CONSTRAINTS);
    const indexes = await client.query<{ table: string; definition: string }>(INDEXES);
    const parts = tables.rows.map(({ table, columns }) =>
      [
        `create table ${table} (\n${columns}\n);`,
        ...constraints.rows.filter((row) => row.table === table).map((row) => row.definition),
        ...indexes.rows.filter((row) => row.table === table).map((row) => row.definition),
      ].join("\n"),
    );
    return `-- Made by dump-schema.ts from the migrations; do not edit.\n\n${parts.join("\n\n")}\n`;
  } finally {
    await client.end();
  }
}
