import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { rootOfV2 } from "./cgroup-seats.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Where a worker finds its root when the kernel says that it is in this group, and that these groups are there. */
function rootFor(group: string, groups: readonly string[]): string | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), "airlock-kernel-"));
  folders.push(folder);
  const [mount, kernel] = [path.join(folder, "mount"), path.join(folder, "kernel")];
  for (const each of [mount, kernel, ...groups.map((name) => path.join(mount, name))]) {
    mkdirSync(each, { recursive: true });
  }
  writeFileSync(path.join(kernel, "cgroup"), `0::${group}\n`);
  writeFileSync(path.join(kernel, "mountinfo"), `30 23 0:26 / ${mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n`);
  return rootOfV2(kernel)?.slice(mount.length);
}

it("a worker finds its own group, and in a container without that path the mount", () => {
  expect(rootFor("/system.slice/airlock.service", ["system.slice/airlock.service"])).toBe(
    "/system.slice/airlock.service",
  );
  expect(rootFor("/docker/0123", [])).toBe("");
});

it("a worker that is started where its predecessor stepped aside finds what that one left", () => {
  const aside = "system.slice/airlock.service/airlock-worker";
  expect(rootFor(`/${aside}`, [aside])).toBe("/system.slice/airlock.service");
  expect(rootFor(`/${aside}/airlock-worker`, [`${aside}/airlock-worker`])).toBe("/system.slice/airlock.service");
  expect(rootFor("/airlock-worker", ["airlock-worker"])).toBe("");
});
