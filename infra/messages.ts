export const HELP = `Airlock: runs code that an AI wrote, sandboxed, with a human on the door.

usage: npm start [-- --help]

Starts everything on this machine: an embedded Postgres, the gateway and a worker. Ctrl-C drains and stops; the data
stays in AIRLOCK_HOME.

  AIRLOCK_PORT       where the gateway listens (4001)
  AIRLOCK_HOME       where data, keys and logs are kept (.airlock)
  AIRLOCK_ADMIN_KEY  the admin key (else made once and kept in AIRLOCK_HOME)
  DATABASE_URL       a Postgres to use instead of the embedded one
  REDIS_URL          a Redis for queue and events (else Postgres does both)
  AIRLOCK_LOG        what the terminal shows: trace, debug, info, warn (default), error, fatal, silent
`;

export interface Ready {
  readonly port: number;
  readonly home: string;
  readonly adminKey: { readonly value: string; readonly keptAt: string | null };
  readonly logFile: string;
  readonly seconds: number;
}

export function readyMessage({ port, home, adminKey, logFile, seconds }: Ready): string {
  const base = `http://127.0.0.1:${port}`;
  const key = adminKey.keptAt === null ? "$AIRLOCK_ADMIN_KEY" : adminKey.value;
  const body = String.raw`{"query":"mutation { submitTask(input: { code: \"return 1 + 1\" }) { id status } }"}`;
  return `
Airlock is ready (${seconds.toFixed(1)} s).

  listens    ${base}
  GraphQL    ${base}/graphql
  admin key  ${adminKey.keptAt === null ? "as given in AIRLOCK_ADMIN_KEY" : `${adminKey.value}  (kept in ${adminKey.keptAt})`}
  data       ${home}
  log        ${logFile}

A first task:

  curl ${base}/graphql -H 'content-type: application/json' \\
    -H "authorization: Bearer ${key}" \\
    -d '${body}'

Ctrl-C drains and stops.
`;
}
