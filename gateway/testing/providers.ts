import { newId } from "@airlock/shared/contracts";
import { type Database, publishProviders, registerWorker } from "@airlock/shared/db";

/** A live worker that tells of a provider with files and of the isolate, as far as the gateway can see. Answers its id. */
export async function tellOfProviders(db: Database, reason: string | null = null): Promise<string> {
  const id = newId();
  await registerWorker(db, { id, host: "test", version: "0", capacity: 1, providers: ["isolate"], tools: [] });
  const isolation = (provider: string) => JSON.stringify({ provider, level: "process", enforced: { memory: true } });
  const shared = { outlivesWorker: true, retains: true, reuses: true } as const;
  await publishProviders(db, id, [
    {
      name: "boxes",
      capabilities: { ...shared, languages: ["JAVASCRIPT", "PYTHON"], keptBy: "replay", workArea: true },
      configSchema: JSON.stringify({
        type: "object",
        properties: { image: { type: "string" }, extra: {} },
        additionalProperties: false,
      }),
      isolation: reason === null ? isolation("boxes") : null,
      reason,
    },
    {
      name: "isolate",
      capabilities: {
        outlivesWorker: false,
        retains: false,
        languages: ["JAVASCRIPT", "TYPESCRIPT"],
        keptBy: "snapshot",
        workArea: false,
      },
      configSchema: JSON.stringify({ type: "object", properties: {}, additionalProperties: false }),
      isolation: isolation("isolate"),
      reason: null,
    },
  ]);
  return id;
}
