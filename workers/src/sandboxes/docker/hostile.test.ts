import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { runProgram } from "../../../testing/run-program.ts";
import { describeHostile } from "../hostile.ts";
import { RUNTIMES } from "./config.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

describeNeeding("docker", "docker", () => {
  describeHostile("docker", () => createDockerProvider(engine));
});

/** Ways to more than a guest has; each says "reached" where it got there. */
const TRICKS = {
  mount: "mount -t tmpfs none /mnt && echo reached",
  "bind over a program":
    "unshare -Urm sh -c 'mount --bind /work /usr/sbin && nsenter -t 1 -m ls /usr/sbin | grep -q mark && echo reached'",
  "writable root": "unshare -Urm sh -c 'mount -o remount,rw / ; : >/usr/mark' ; [ -e /usr/mark ] && echo reached",
  device: "mknod /work/disk b 8 0 && dd if=/work/disk of=/dev/null count=1 && echo reached",
  "device as a root of its own":
    "unshare -Ur sh -c 'mknod /work/disk b 8 0 && dd if=/work/disk of=/dev/null count=1' && echo reached",
  "kernel's switches":
    "unshare -Ur sh -c 'echo x >/proc/sys/kernel/core_pattern' && grep -q '^x$' /proc/sys/kernel/core_pattern && echo reached",
  "own network": "unshare -Urn sh -c 'ls /sys/class/net | grep -v lo' && echo reached",
  "cgroup of its own": "unshare -UrmC sh -c 'mount -t cgroup2 none /mnt && echo 1 >/mnt/cgroup.procs' && echo reached",
};

describeNeeding(["docker", "runsc"], "namespaces and mounts", () => {
  const provider = createDockerProvider(engine);
  afterAll(() => provider.close());

  it.each(RUNTIMES)("of a guest's own lead nowhere, under %s", async (runtime) => {
    const code = `require("fs").writeFileSync("/work/mark", "");
      const { spawnSync } = require("child_process");
      return Object.entries(${JSON.stringify(TRICKS)}).map(([name, trick]) => {
        const { stdout } = spawnSync("sh", ["-c", trick], { timeout: 10_000, encoding: "utf8" });
        return [name, /reached/.test(stdout)] })
        .filter(([, reached]) => reached).map(([name]) => name)`;
    const { outcome } = await runProgram(provider, { code, lease: { config: { runtime } } });
    expect(outcome).toEqual({ kind: "returned", output: "[]" });
  });
});
