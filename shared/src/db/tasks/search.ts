import { type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import type { TaskFilter } from "./filter.ts";

/** Characters of a task that a search looks at: what is read of the longest code takes 10 ms. */
const CODE_CHARS = 20_000;
const ERROR_CHARS = 10_000;
const LABEL_CHARS = 20_000;
/** Spells "SRCH". */
const SEARCH_LOCK = 0x53524348;

/**
 * The words of a text, and the parts of those in camel case. Without punctuation the parser finds words, not addresses,
 * tags or signed numbers: `tools.mail.sendAll` is tools, mail, sendall, send and all.
 */
function wordsIn(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select strip(to_tsvector('pg_catalog.simple',
      bare || ' ' || regexp_replace(bare, '([[:lower:][:digit:]])([[:upper:]])', '\\1 \\2', 'g')))
    from regexp_replace(${text}, '[^[:alnum:]]+', ' ', 'g') as bare
  )`;
}

/** No word begins with a colon, so that no search finds a task by its facets. Hashed: a label may be longer than a word can be. */
function facet(kind: "project" | "environment" | "label", value: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`(${`:${kind}:`}::text || hashtextextended(${value}, 0))`;
}

/** All that the task `t` of a statement can be found by. */
const wordsOf = sql`(
  ${wordsIn(sql`left(t.code, ${sql.lit(CODE_CHARS)})`)}
  || ${wordsIn(sql`coalesce(left(t.error_message, ${sql.lit(ERROR_CHARS)}), '')`)}
  || coalesce((
    select ${wordsIn(sql`left(string_agg(l.key || ' ' || l.value, ' '), ${sql.lit(LABEL_CHARS)})`)}
      || array_to_tsvector(array_agg(${facet("label", sql`l.key || '=' || l.value`)}))
    from task_labels l where l.task_id = t.id
  ), '')
  || array_to_tsvector(array[
    ${facet("project", sql`t.project_id::text`)}, ${facet("environment", sql`t.environment`)}
  ])
)`;

/** All words of the search; the last one, which may still be typed, also as the beginning of a word. */
function wordsAsked(search: string): RawBuilder<unknown> {
  const bare = sql`regexp_replace(${search}::text, '[^[:alnum:]]+', ' ', 'g')`;
  const words = sql`plainto_tsquery('pg_catalog.simple', ${bare})`;
  return sql`(case when ${bare} ~ '[[:alnum:]]{3} ?$' then (${words}::text || ':*')::tsquery else ${words} end)`;
}

/** Whether the task `t` is found, as far as it has been indexed. */
export function isFound(search: string): RawBuilder<boolean> {
  return sql<boolean>`coalesce((
    select s.words @@ ${wordsAsked(search)} from task_search s where s.task_id = t.id limit 1
  ), false)`;
}

/** Whether the task `t` is found, read from the task itself. */
export function wouldBeFound(search: string): RawBuilder<boolean> {
  return sql<boolean>`${wordsOf} @@ ${wordsAsked(search)}`;
}

/** What the index can answer of a filter: all its words and facets. Null where it has none. */
export function queryOf(
  projectId: string,
  { search, environment, labels = [] }: TaskFilter,
): RawBuilder<unknown> | null {
  if (search === undefined && environment === undefined && labels.length === 0) return null;
  const facets = [
    facet("project", sql`${projectId}::text`),
    ...(environment === undefined ? [] : [facet("environment", sql`${environment}::text`)]),
    ...labels.map(([key, value]) => facet("label", sql`${`${key}=${value}`}::text`)),
  ].map((name) => sql`('''' || ${name} || '''')::tsquery`);
  const asked = [...facets, ...(search === undefined ? [] : [wordsAsked(search)])];
  return sql`(${sql.join(asked, sql` && `)})`;
}

/** Up to `limit` tasks that answer the query, in no order. */
export async function searchTasks(db: Database, query: RawBuilder<unknown>, limit: number): Promise<string[]> {
  const { rows } = await sql<{ task_id: string }>`
    select task_id from task_search where words @@ ${query} limit ${limit}
  `.execute(db);
  return rows.map((row) => row.task_id);
}

/** A part of the statement that writes the tasks of `tasks`: what they can be found by has changed. */
export function toIndex(tasks: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`, unindexed as (insert into search_backlog (task_id) select id from ${tasks})`;
}

/** Indexes up to `limit` tasks that have changed, unless somebody else is about it. Answers how many. */
export async function indexTasks(db: Database, limit: number): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${SEARCH_LOCK}) as mine`.execute(tx);
    return rows[0]?.mine ? indexLocked(tx, limit) : 0;
  });
}

/** Indexes what has just changed, up to `limit` tasks. Answers whether that was all. */
export async function indexRest(db: Database, limit: number): Promise<boolean> {
  const { rows } = await sql`select from search_backlog limit 1`.execute(db);
  if (rows.length === 0) return true;
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${SEARCH_LOCK})`.execute(tx);
    return (await indexLocked(tx, limit)) < limit;
  });
}

async function indexLocked(tx: Database, limit: number): Promise<number> {
  const { rows } = await sql<{ taken: number }>`
    with taken as (
      delete from search_backlog where ctid = any(array(select ctid from search_backlog limit ${limit}))
      returning task_id
    ), changed as materialized (
      select distinct task_id from taken
    ), outdated as (
      delete from task_search where task_id in (select task_id from changed)
    ), indexed as (
      insert into task_search (task_id, words)
      select t.id, ${wordsOf} from changed c join tasks t on t.id = c.task_id
    )
    select count(*)::integer as taken from taken
  `.execute(tx);
  return rows[0]?.taken ?? 0;
}
