import { existsSync } from "node:fs";
import { release } from "node:os";
import { answerOf } from "./probe.ts";

export interface Finding {
  readonly name: string;
  /** missing: something is unavailable for want of it. broken: Airlock itself does not work. */
  readonly state: "ok" | "missing" | "broken";
  readonly found: string;
  /** What works because of it, or does not. */
  readonly meaning: string;
}

type Check = () => Promise<Finding>;

const NODE_FROM = 24;

const node: Check = () => {
  const enough = Number(process.versions.node.split(".")[0]) >= NODE_FROM;
  return Promise.resolve({
    name: "node",
    state: enough ? "ok" : "broken",
    found: process.version,
    meaning: enough
      ? "runs gateway, workers and this program"
      : `Node ${NODE_FROM} is needed; npm start brings it along`,
  });
};

const kernel: Check = () => {
  const linux = process.platform === "linux";
  return Promise.resolve({
    name: "system",
    state: linux ? "ok" : "missing",
    found: `${process.platform} ${release()}`,
    meaning: linux
      ? "namespaces, cgroups and seccomp exist"
      : "no namespaces: isolates run behind Node's own walls only",
  });
};

/** The program alone proves nothing: many machines forbid user namespaces. */
const bwrap: Check = async () => {
  const version = await answerOf("bwrap", ["--version"]);
  const works = version.ok && (await answerOf("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"]));
  return {
    name: "bwrap",
    state: works !== false && works.ok ? "ok" : "missing",
    found: works === false ? version.text : works.ok ? version.text : works.text,
    meaning:
      works !== false && works.ok
        ? "isolate hosts run in namespaces of their own, without network or files"
        : "isolate hosts run behind Node's permission model only",
  };
};

const cgroups: Check = () => {
  const there = existsSync("/sys/fs/cgroup/cgroup.controllers");
  return Promise.resolve({
    name: "cgroups",
    state: there ? "ok" : "missing",
    found: there ? "version 2" : "no version 2",
    meaning: there ? "memory and processes of a sandbox can be bounded" : "a process sandbox has no bounds of its own",
  });
};

const docker: Check = async () => {
  const server = await answerOf("docker", ["version", "--format", "{{.Server.Version}}"]);
  return {
    name: "docker",
    state: server.ok ? "ok" : "missing",
    found: server.text,
    meaning: server.ok ? "containers can be sandboxes" : "no container sandboxes",
  };
};

const runsc: Check = async () => {
  const version = await answerOf("runsc", ["--version"]);
  return {
    name: "runsc",
    state: version.ok ? "ok" : "missing",
    found: version.text,
    meaning: version.ok ? "containers can have gVisor's kernel between them and ours" : "containers share our kernel",
  };
};

const redis: Check = async () => {
  const version = await answerOf("redis-server", ["--version"]);
  return {
    name: "redis",
    state: version.ok ? "ok" : "missing",
    found: version.text,
    meaning: version.ok
      ? "can carry queue and events (REDIS_URL)"
      : "Postgres carries queue and events, unless REDIS_URL names one",
  };
};

export const CHECKS: readonly Check[] = [node, kernel, bwrap, cgroups, docker, runsc, redis];
