import { connect } from "node:net";
import type { TaskQueues } from "@airlock/shared/queue";

/** Takes this many jobs out of the provider's queue; the ids of their tasks, in the order in which they came. */
export async function takeJobs(queues: TaskQueues, count: number): Promise<string[]> {
  const taken: string[] = [];
  const enough = Promise.withResolvers<void>();
  const consumer = queues.consume(
    "isolate",
    async ({ taskId }) => {
      taken.push(taskId);
      if (taken.length === count) enough.resolve();
    },
    { concurrency: 1, onError: enough.reject },
  );
  await enough.promise;
  await consumer.close();
  return taken;
}

/** FLUSHALL, as an operator would type it: a client library would only stand between. */
export async function flushRedis(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const answered = Promise.withResolvers<string>();
  socket.on("data", (answer) => answered.resolve(String(answer))).on("error", answered.reject);
  socket.write("FLUSHALL\r\n");
  const answer = await answered.promise;
  socket.end();
  if (answer !== "+OK\r\n") throw new Error(answer);
}
