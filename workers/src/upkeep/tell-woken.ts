import { topics } from "@airlock/shared/contracts";
import type { Woken } from "@airlock/shared/db";
import type { Context } from "../context.ts";

/** Puts woken tasks into the queue, and tells running segments and subscribers. */
export async function tellWoken(
  { queues, bus, feeder, running }: Pick<Context, "queues" | "bus" | "feeder" | "running">,
  woken: Woken,
): Promise<void> {
  running.look(woken.running);
  await Promise.all([
    queues.add(woken.toEnqueue),
    bus.publish(topics.wake, [...woken.running]),
    bus.publish(topics.events, [...woken.events]),
  ]);
  if (woken.events.length > woken.toEnqueue.length + woken.running.length) void feeder.feed();
}
