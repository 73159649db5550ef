import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import type { Tables } from "./tables.ts";

export type Database = Kysely<Tables>;

/** bigint columns hold durations in ms, far below 2^53. For our pool only: BullMQ's pools keep the driver's own way. */
const int8 = 20;
const types = new pg.TypeOverrides();
types.setTypeParser(int8, Number);

/**
 * The mark of a statement that is planned once a connection and then only executed. Planning the main road's statements
 * takes longer than running them: 0.9 ms with it, 0.4 without.
 */
export const PREPARED = sql`/* prepared */`;
const MARK = "/* prepared */";

/** Gives marked statements a name, by which Postgres keeps their plans. */
class PreparingClient extends pg.Client {
  static readonly #names = new Map<string, string>();

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // One that breaks between two statements of a transaction says so here, and without a listener ends the program; the
    // next statement is refused in any case.
    this.on("error", () => undefined);
  }

  // The driver's own signature has a dozen forms; kysely uses this one.
  override query(...args: unknown[]): never {
    const [text, values, ...rest] = args;
    if (typeof text !== "string" || !text.trimStart().startsWith(MARK)) return this.#send(args);
    return this.#send([{ name: PreparingClient.#nameOf(text), text, values }, ...rest]);
  }

  #send(args: unknown[]): never {
    return (super.query as (...args: unknown[]) => never)(...args);
  }

  static #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `airlock_${this.#names.size}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Shown in pg_stat_activity. */
  readonly program: string;
  /** An idle connection broke; the pool replaces it. */
  readonly onError: (error: Error) => void;
  /**
   * A transaction whose program says nothing for so long is ended by Postgres: one that is frozen in the middle would keep
   * its locks from all others, and so its tasks from whoever takes them over.
   */
  readonly maxSilenceMs?: number;
}

const MAX_SILENCE_MS = 10_000;

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    types,
    application_name: options.program,
    connectionTimeoutMillis: 10_000,
    idle_in_transaction_session_timeout: options.maxSilenceMs ?? MAX_SILENCE_MS,
    Client: PreparingClient,
    // A plan made while a table was still empty is kept for as long as the connection: never one that reads it whole.
    options: "-c enable_seqscan=off -c jit=off",
  });
  pool.on("error", options.onError);
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

/**
 * The server refused the statement and rolled it back (a deadlock, a bad value). Anything else, a connection that broke
 * above all, leaves open whether it took effect.
 */
export function wasRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && !/^(08|57)/.test(error.code);
}
