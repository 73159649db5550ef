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

/** Whether they may be made is seen by who runs as the worker does. */
const cgroups: Check = () => {
  const v2 = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const v1 = ["memory", "pids"].every((name) => existsSync(`/sys/fs/cgroup/${name}/cgroup.procs`));
  const there = v2 || v1;
  return Promise.resolve({
    name: "cgroups",
    state: there ? "ok" : "missing",
    found: v2 ? "version 2" : v1 ? "version 1" : "none",
    meaning: there ? "memory and processes of a sandbox can be bounded" : "a process sandbox has no bounds of its own",
  });
};

const user: Check = () => {
  const root = process.getuid?.() === 0;
  return Promise.resolve({
    name: "user",
    state: root ? "ok" : "missing",
    found: root ? "root" : "not root",
    meaning: root
      ? "a worker run like this can make process sandboxes"
      : "a worker run like this makes no process sandboxes: they need root",
  });
};

const docker: Check = async () => {
  const server = await answerOf("docker", ["version", "--format", "{{.Server.Version}}"]);
  return {
    name: "docker",
    state: server.ok ? "ok" : "missing",
    found: server.text,
    meaning: server.ok
      ? "containers can be sandboxes, where the image is there (npm run sandbox-image)"
      : "no container sandboxes, unless AIRLOCK_DOCKER_SOCKET names an engine",
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

export const CHECKS: readonly Check[] = [node, kernel, user, bwrap, cgroups, docker, runsc, redis];
