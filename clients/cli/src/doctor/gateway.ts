import { AirlockError } from "@airlock/client";
import { UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import type { Finding } from "./checks.ts";

/** Whether a gateway answers, and what its workers have proved. */
export async function checkGateway(context: Context): Promise<Finding> {
  const finding = (state: Finding["state"], found: string, meaning: string): Finding => ({
    name: "gateway",
    state,
    found,
    meaning,
  });
  try {
    const { url } = await context.settings();
    const workers = await (await context.client()).workers.list();
    const live = workers.filter(({ state }) => state === "RUNNING");
    const providers = [...new Set(live.flatMap((worker) => worker.providers))].sort();
    const meaning =
      live.length === 0 ? "no worker runs: tasks will wait" : `${live.length} running, proved: ${providers.join(", ")}`;
    return finding(live.length === 0 ? "missing" : "ok", url, meaning);
  } catch (error) {
    if (!(error instanceof AirlockError) && !(error instanceof UsageError)) throw error;
    return finding("missing", error.message, "only start and doctor work without one");
  }
}
