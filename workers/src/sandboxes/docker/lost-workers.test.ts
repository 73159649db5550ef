import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { WORKER_LABEL } from "./container-spec.ts";
import { connectToEngine, listContainers } from "./engine.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };
const WORKER = fileURLToPath(new URL("../../../testing/docker-worker.ts", import.meta.url));
const TASKS = 100;
const KILLS = 20;

describeNeeding("docker", "workers that are killed", () => {
  const reaper = createDockerProvider({ ...engine, warm: 0 });
  afterAll(() => reaper.close());

  it(`leave no container behind: ${TASKS} tasks, ${KILLS} kills`, { timeout: 600_000 }, async () => {
    const workers: string[] = [];
    const leases: string[] = [];
    let tasks = 0;
    for (let kill = 0; kill < KILLS || tasks < TASKS; kill++) {
      const workerId = randomUUID();
      workers.push(workerId);
      const worker = spawn(process.execPath, [WORKER, engine.socket, engine.image, workerId], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(worker, "exit");
      let done = 0;
      for await (const line of createInterface(worker.stdout)) {
        const [what, value] = line.split(" ");
        if (what === "lease") leases.push(value as string);
        if (value === "returned") done++;
        // Somewhere within the tasks after: each time at another step.
        if (done >= TASKS / KILLS && worker.exitCode === null) {
          void sleep((kill * 37) % 400).then(() => worker.kill("SIGKILL"));
          done = -Infinity;
        }
        if (value === "returned") tasks++;
      }
      await exited;
    }
    const docker = connectToEngine(engine.socket);
    // What the reaper does: destroys what exists of the leases that lost workers held.
    const remaining = async () => {
      for (const id of await reaper.leftovers()) if (leases.includes(id)) await reaper.destroy(id);
      return (await listContainers(docker)).filter(({ labels }) => workers.includes(labels[WORKER_LABEL] ?? ""));
    };
    await expect.poll(remaining, { timeout: 180_000, interval: 1_000 }).toEqual([]);
    expect(tasks).toBeGreaterThanOrEqual(TASKS);
    expect(workers.length).toBeGreaterThanOrEqual(KILLS);
  });
});
