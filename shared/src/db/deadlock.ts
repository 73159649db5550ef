import pg from "pg";

const DEADLOCK = "40P01";
const MAX_ATTEMPTS = 5;

/**
 * Runs again what Postgres rolled back to end a deadlock. Statements that settle many approvals lock their tasks in
 * order, but a worker's group of segments does not.
 */
export async function retryDeadlocks<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const deadlock = error instanceof pg.DatabaseError && error.code === DEADLOCK;
      if (!deadlock || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
