import { sql } from "kysely";
import type { Database } from "./database.ts";
import type { LeaseRow } from "./leases.ts";
import { storable } from "./tasks/index.ts";

/** Those of no use without their worker: what rests for its session's next task only that worker can hand out. */
const HELD = sql`(state = 'ACTIVE' or state = 'RETAINED' and policy = 'REUSE_BY_SESSION')`;

/**
 * Takes leases from those who do not hold them any more: retained ones whose time is up, those of lost or stopped
 * workers, and this worker's own that it has no hold of (the word of their end was lost).
 */
export async function expireLeases(
  db: Database,
  { workerId, held, lapseMs }: { workerId: string; held: readonly string[]; lapseMs: number },
): Promise<LeaseRow[]> {
  const { rows } = await sql<LeaseRow>`
    update leases l set state = 'EXPIRED', retry_at = now(), error = coalesce(l.error, case
      when l.state = 'RETAINED' and l.expires_at <= now() then 'its time was up'
      when l.worker_id = ${workerId} then 'its worker lost hold of it'
      else 'its worker was lost'
    end)
    from (
      select id from leases o where ended_at is null and (
        state = 'RETAINED' and expires_at <= now()
        or ${HELD} and worker_id = ${workerId} and not id = any(${held}::uuid[])
          and created_at < now() - ${lapseMs} * interval '1 millisecond'
        or ${HELD} and worker_id <> ${workerId} and not exists (
          select from workers w where w.id = o.worker_id and w.state in ('RUNNING', 'DRAINING')
            and w.last_seen_at > now() - ${lapseMs} * interval '1 millisecond'
        )
      )
      order by id limit 1000 for update skip locked
    ) gone
    where l.id = gone.id
    returning l.*
  `.execute(db);
  return rows;
}

/** What to do about the sandboxes that exist: `destroy` what nobody holds; `unknown` ones are not of this database. */
export interface Leftovers {
  readonly destroy: readonly string[];
  readonly unknown: readonly string[];
}

/** To be asked after the provider was: a lease has its row before its sandbox exists. */
export async function judgeLeftovers(db: Database, ids: readonly string[]): Promise<Leftovers> {
  const { rows } = await sql<{ id: string; state: string | null; due: boolean | null }>`
    select a.id, l.state, coalesce(l.retry_at <= now(), true) as due
    from unnest(${ids}::uuid[]) as a (id) left join leases l on l.id = a.id
  `.execute(db);
  return {
    unknown: rows.filter(({ state }) => state === null).map(({ id }) => id),
    destroy: rows
      .filter(({ state, due }) => state !== null && state !== "ACTIVE" && state !== "RETAINED" && due)
      .map(({ id }) => id),
  };
}

/** Open leases of this host, or of one that is silent for an hour, whose sandbox the provider does not have: gone. */
export async function findGone(
  db: Database,
  { provider, host, existing }: { provider: string; host: string; existing: readonly string[] },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from leases l
    where provider = ${provider} and ended_at is null and state in ('PENDING_CLEANUP', 'EXPIRED')
      and not id = any(${existing}::uuid[])
      and (host = ${host} or not exists (
        select from workers w where w.host = l.host and w.last_seen_at > now() - interval '1 hour'
      ))
    order by id limit 1000
  `.execute(db);
  return rows.map(({ id }) => id);
}

/** The sandbox is gone. An expired lease stays EXPIRED; others are RELEASED. Answers what changed. */
export async function markDestroyed(db: Database, ids: readonly string[]): Promise<LeaseRow[]> {
  const { rows } = await sql<LeaseRow>`
    update leases set ended_at = now(), state = case state when 'PENDING_CLEANUP' then 'RELEASED' else state end
    where id = any(${ids}::uuid[]) and ended_at is null and state in ('PENDING_CLEANUP', 'EXPIRED')
    returning *
  `.execute(db);
  return rows;
}

/** It may still exist: tried again later, at most every hour. */
export async function markUndestroyed(db: Database, id: string, error: string): Promise<LeaseRow | null> {
  const { rows } = await sql<LeaseRow>`
    update leases set state = 'PENDING_CLEANUP', ended_at = null, attempts = attempts + 1, error = ${storable(error)},
      retry_at = now() + least(3600, power(2, least(attempts, 12))) * interval '1 second'
    where id = ${id} and state not in ('ACTIVE', 'RETAINED')
    returning *
  `.execute(db);
  return rows[0] ?? null;
}
