import { builder } from "../builder.ts";

/** What the worker that claimed the task proved of its sandbox, as the database keeps it. */
interface StoredIsolation {
  readonly provider: string;
  readonly level: string;
  readonly enforced: unknown;
}

export const IsolationReportType = builder.objectRef<StoredIsolation>("IsolationReport").implement({
  description:
    "level: wasm, process, container, gvisor, microvm or none. enforced: what was proved at start (memory, pids, network, ...).",
  fields: (t) => ({
    provider: t.exposeString("provider"),
    level: t.exposeString("level"),
    enforced: t.field({ type: "JSON", resolve: (report) => report.enforced }),
  }),
});

export function readIsolation(text: string | null): StoredIsolation | null {
  return text === null ? null : (JSON.parse(text) as StoredIsolation);
}
