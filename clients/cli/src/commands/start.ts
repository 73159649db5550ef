import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { defineCommand, UsageError } from "../command.ts";

const ENTRY = path.resolve(import.meta.dirname, "../../../../infra/main.ts");

export const start = defineCommand({
  name: "start",
  summary: "Starts Airlock on this machine, as npm start does.",
  notes: `
An embedded Postgres (or DATABASE_URL), the gateway and a worker.
Reads AIRLOCK_PORT, AIRLOCK_HOME, AIRLOCK_ADMIN_KEY, DATABASE_URL, REDIS_URL and AIRLOCK_LOG.
Ctrl-C drains and stops. Commands on the same machine find its key by themselves.`,
  async run() {
    if (!existsSync(ENTRY))
      throw new UsageError("this command line stands alone; Airlock starts from its own checkout");
    const child = spawn(process.execPath, [ENTRY], { stdio: "inherit" });
    // Ctrl-C reaches the child by itself, too: it takes a repeat within a second for the same signal.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
    });
  },
});
