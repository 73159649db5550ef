import { type Database, indexTasks } from "@airlock/shared/db";
import { sql } from "kysely";

const STEP = 50_000;
const INDEX_STEP = 5_000;

/**
 * Ended tasks of the bootstrap project, as many as there have not been from `from` to `to`: one a second, each older than
 * those before. One in 25 failed. Half of them say shipment, one `needle<to>`.
 */
export async function fillHistory(db: Database, from: number, to: number): Promise<void> {
  const started = performance.now();
  for (let first = from + 1; first <= to; first += STEP)
    await fill(db, first, Math.min(to, first + STEP - 1), from, to);
  const filled = performance.now();
  while ((await indexTasks(db, INDEX_STEP)) > 0 || (await isUnindexed(db)));
  const indexed = performance.now();
  await sql`vacuum analyze tasks`.execute(db);
  await sql`vacuum analyze task_labels`.execute(db);
  await sql`vacuum analyze task_search`.execute(db);
  const rate = (ms: number): string => ((to - from) / (ms / 1000)).toFixed(0);
  console.log(`history: ${rate(filled - started)} tasks/s inserted, ${rate(indexed - filled)} tasks/s indexed`);
}

async function fill(db: Database, first: number, last: number, from: number, to: number): Promise<void> {
  await sql`
    with numbered as (
      select n, uuidv7(-n * interval '1 second') as id, now() - n * interval '1 second' as at,
        case when n % 25 = 3 then 'FAILED' when n % 200 = 8 then 'CANCELLED' when n % 200 = 9 then 'TIMED_OUT'
          when n % 1000 = 10 then 'PARKED' else 'SUCCEEDED' end as status
      from generate_series(${first}::integer, ${last}::integer) n
    ), inserted as (
      insert into tasks (
        id, project_id, status, language, environment, provider, code, session, priority, seed, segments, event_seq,
        output, error_code, error_message, isolation, created_at, started_at, finished_at, waiting_for
      )
      select t.id, p.id, t.status, 'TYPESCRIPT', 'isolate', 'isolate',
        'const ' || case when n % 2 = 0 then 'invoice' else 'shipment' end || ' = await tools.billing.find({ id: "'
          || md5(n::text) || '", year: ' || 2000 + n % 26 || ' });' || chr(10)
          || 'if (invoice.total > ' || n % 977 || ') await tools.mail.sendReminder({ to: "accounts@customer-'
          || n % 5003 || '.example", subject: "Reminder" });' || chr(10)
          || case when n = (${from}::integer + ${to}::integer) / 2 then '// needle' || ${to}::integer || chr(10) else '' end
          || 'return { checked: ' || n || ', reminded: true };',
        case when n % 10 = 0 then 'session-' || n % 1009 end, 0, '\\x00', 1, 3,
        case t.status when 'SUCCEEDED' then '{"checked":' || n || ',"reminded":true}' end,
        case t.status when 'FAILED' then 'GUEST_ERROR' when 'CANCELLED' then 'CANCELLED' when 'TIMED_OUT' then 'TIMEOUT' end,
        case t.status when 'FAILED' then 'TypeError: customer ' || n % 5003 || ' has no address'
          when 'CANCELLED' then 'cancelled before it ran' when 'TIMED_OUT' then 'ran for more than 30000 ms' end,
        '{"provider":"isolate","level":"wasm","enforced":{}}', t.at, t.at,
        case when t.status <> 'PARKED' then t.at end, case when t.status = 'PARKED' then 'approval' end
      from numbered t cross join (select id from projects where bootstrap) p
      returning id
    ), labels as (
      insert into task_labels (task_id, project_id, key, value)
      select t.id, p.id, l.key, l.value
      from numbered t cross join (select id from projects where bootstrap) p cross join lateral (values
        ('team', '"team-' || n % 20 || '"'),
        (case when n % 2 = 0 then 'nightly' end, 'true'),
        (case when n = (${from}::integer + ${to}::integer) / 2 then 'ticket' end, ${to}::text)
      ) l (key, value)
      where l.key is not null
    )
    insert into search_backlog (task_id) select id from inserted
  `.execute(db);
}

async function isUnindexed(db: Database): Promise<boolean> {
  return (await db.selectFrom("search_backlog").select("task_id").limit(1).execute()).length > 0;
}
