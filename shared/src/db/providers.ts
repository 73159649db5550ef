import { sql } from "kysely";
import type { Language } from "../domain/index.ts";
import type { Database } from "./database.ts";
import { storable } from "./tasks/index.ts";

/** What a provider can do, as its workers say. */
export interface PublishedCapabilities {
  readonly languages: readonly Language[];
  readonly keptBy: "snapshot" | "replay";
  readonly workArea: boolean;
  readonly outlivesWorker: boolean;
  readonly retains: boolean;
  /** Absent: published before there was the word. */
  readonly reuses?: boolean;
}

/** What a worker tells about a provider of its build, whether it can be used there or not. */
export interface PublishedProvider {
  readonly name: string;
  readonly capabilities: PublishedCapabilities;
  /** JSON text of a JSON Schema. */
  readonly configSchema: string;
  /** JSON text of what was proved; null where the probe failed. */
  readonly isolation: string | null;
  /** Why the probe failed. */
  readonly reason: string | null;
}

export async function publishProviders(
  db: Database,
  workerId: string,
  providers: readonly PublishedProvider[],
): Promise<void> {
  // What workers of long ago said is of no use to anybody.
  await sql`
    delete from worker_providers p using workers w where w.id = p.worker_id and w.last_seen_at < now() - interval '7 days'
  `.execute(db);
  if (providers.length === 0) return;
  await db
    .insertInto("worker_providers")
    .values(
      providers.map((provider) => ({
        worker_id: workerId,
        name: provider.name,
        capabilities: JSON.stringify(provider.capabilities),
        config_schema: provider.configSchema,
        isolation: provider.isolation,
        reason: storable(provider.reason),
      })),
    )
    .execute();
}

/** A provider as the fleet has it now. */
export interface ProviderRow {
  readonly name: string;
  readonly capabilities: PublishedCapabilities;
  readonly configSchema: string;
  /** Of a live worker that proved it; null where none did. */
  readonly isolation: string | null;
  /** Why the live workers' probes failed, each reason once; empty where one has it. */
  readonly reasons: readonly string[];
  /** The live workers that proved it. */
  readonly workers: readonly string[];
}

/** A worker that is silent for longer is no live one, whether its tasks are taken over already or not. */
const LIVE = sql`w.state = 'RUNNING' and w.last_seen_at > now() - interval '30 seconds'`;

/** Those that a worker of the last day has told of, by name; the newest word counts. */
export async function listProviders(db: Database): Promise<ProviderRow[]> {
  const { rows } = await sql<{
    name: string;
    capabilities: string;
    config_schema: string;
    isolation: string | null;
    reasons: string[];
    workers: string[];
  }>`
    with told as (
      select p.*, ${LIVE} as live from worker_providers p join workers w on w.id = p.worker_id
      where w.last_seen_at > now() - interval '1 day'
    )
    select distinct on (t.name) t.name, t.capabilities, t.config_schema, l.isolation, l.reasons, l.workers
    from told t cross join lateral (
      select (array_agg(o.isolation order by o.published_at desc) filter (where o.isolation is not null))[1] as isolation,
        coalesce(array_agg(distinct o.reason) filter (where o.reason is not null), '{}') as reasons,
        coalesce(array_agg(o.worker_id::text) filter (where o.isolation is not null), '{}') as workers
      from told o where o.name = t.name and o.live
    ) l
    order by t.name, t.isolation is null, t.published_at desc
  `.execute(db);
  return rows.map(({ capabilities, config_schema, reasons, workers, ...row }) => ({
    ...row,
    capabilities: JSON.parse(capabilities) as PublishedCapabilities,
    configSchema: config_schema,
    reasons: workers.length > 0 ? [] : reasons,
    workers,
  }));
}

/** A provider that no worker has proved, with a worker's reason. */
export interface UnprovedProvider {
  readonly name: string;
  readonly reason: string;
}

/**
 * Providers that a live worker could not prove, and that no worker has had in the last `patienceMs`: one that was there a
 * moment ago is being started again. Where no worker lives, nothing is said.
 */
export async function findUnproved(db: Database, patienceMs: number): Promise<UnprovedProvider[]> {
  const { rows } = await sql<UnprovedProvider>`
    select p.name, min(p.reason) as reason from worker_providers p join workers w on w.id = p.worker_id
    where p.isolation is null and ${LIVE} and not exists (
      select from worker_providers o join workers v on v.id = o.worker_id
      where o.name = p.name and o.isolation is not null
        and v.last_seen_at > now() - ${patienceMs} * interval '1 millisecond'
    )
    group by p.name
  `.execute(db);
  return rows;
}
