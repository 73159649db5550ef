import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { CommandRecord, LogEntry } from "./commands.ts";
import type { Faults } from "./faults.ts";
import type { SandboxRecord } from "./sandboxes.ts";

const STOPPED = { stream: "error", data: { code: "sandbox_stopped", message: "Sandbox was stopped" } };

/** All that a command said from its start, then what it says, until it ends or its machine does. */
export async function sendLogs(
  response: ServerResponse,
  sandbox: SandboxRecord,
  command: CommandRecord,
  faults: Faults,
  isFirst: boolean,
): Promise<void> {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.flushHeaders();
  const fault = faults.forLog();
  const line = (value: unknown) => response.write(`${JSON.stringify(value)}\n`);
  // Whoever stopped reading is not waited for.
  response.once("close", () => command.news.emit("more"));
  let sent = 0;
  for (let next = 0; !response.destroyed;) {
    const entry = command.log[next];
    if (entry !== undefined) {
      next++;
      const left = (fault?.afterBytes ?? Infinity) - sent;
      const part = { ...entry, data: entry.data.slice(0, left) };
      sent += part.data.length;
      line(faults.forgetfulLogs && !isFirst ? forgotten(part) : part);
      if (fault === null || sent < fault.afterBytes) continue;
      if (fault.end === "error") line({ stream: "error", data: { code: "internal", message: "log stream lost" } });
      if (fault.end === "broken") response.destroy();
      else response.end();
      return;
    }
    if (sandbox.status === "stopped") line(STOPPED);
    if (sandbox.status === "stopped" || command.exitCode !== null) return void response.end();
    await once(command.news, "more");
  }
}

function forgotten(entry: LogEntry): LogEntry {
  return { ...entry, data: entry.data.replaceAll(/[a-z]/g, "?") };
}
