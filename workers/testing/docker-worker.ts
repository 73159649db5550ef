import { createDockerProvider } from "../src/sandboxes/docker/index.ts";
import { leaseRequest } from "./lease-request.ts";
import { runProgram } from "./run-program.ts";

/**
 * A worker as far as its containers go, to be killed: runs tasks two at a time, and writes each lease down before it
 * asks for it and the task once it is done.
 */
const [socket = "", image = "", workerId = ""] = process.argv.slice(2);
const provider = createDockerProvider({ socket, image, workerId, warm: 1 });

async function work(): Promise<never> {
  for (;;) {
    const lease = leaseRequest();
    process.stdout.write(`lease ${lease.leaseId}\n`);
    const stubborn = 'process.on("SIGTERM", () => {}); require("fs").writeFileSync("x", "y"); return 1';
    const { outcome } = await runProgram(provider, { code: stubborn, lease });
    process.stdout.write(`task ${outcome.kind}\n`);
  }
}

await Promise.all([work(), work()]);
