import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { finalStage, type Instruction, parseDockerfile } from "./dockerfile.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

describe.each([
  { name: "gateway", entry: "gateway/dist/main.js" },
  { name: "worker", entry: "workers/dist/main.js" },
])("the $name image", ({ name, entry }) => {
  const all = parseDockerfile(readFileSync(path.join(import.meta.dirname, `${name}.Dockerfile`), "utf8"));
  const last = finalStage(all);
  const only = (wanted: string): Instruction[] => last.filter((instruction) => instruction.name === wanted);

  test("runs as a user that is not root", () => {
    expect(only("USER").at(-1)?.text).toMatch(/^(?!root|0)\S+$/);
  });

  test("starts the program itself, so that signals reach it", () => {
    expect(only("ENTRYPOINT")).toEqual([]);
    expect(only("CMD").map(({ text }) => JSON.parse(text) as unknown)).toEqual([["node", "--conditions=built", entry]]);
  });

  test("copies only what exists and what .dockerignore lets through", () => {
    const sources = all.filter((one) => one.name === "COPY" && !one.text.startsWith("--from")).flatMap(copySources);
    expect(sources.length).toBeGreaterThan(5);
    expect(sources.filter((source) => !existsSync(path.join(ROOT, source)))).toEqual([]);
    const allowed = readFileSync(path.join(ROOT, ".dockerignore"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const lets = (source: string): boolean =>
      allowed.some((entry) => source === entry || source.startsWith(`${entry}/`));
    expect(sources.filter((source) => !lets(source))).toEqual([]);
  });

  test("installs from every workspace's manifest, or npm ci would refuse the lock file", () => {
    const { workspaces } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
      workspaces: string[];
    };
    const copied = all.filter((one) => one.name === "COPY").flatMap(copySources);
    expect(copied).toEqual(expect.arrayContaining(workspaces.map((workspace) => `${workspace}/package.json`)));
  });
});

test("the gateway image says whether it is healthy", () => {
  const source = readFileSync(path.join(import.meta.dirname, "gateway.Dockerfile"), "utf8");
  const check = finalStage(parseDockerfile(source)).find(({ name }) => name === "HEALTHCHECK");
  expect(JSON.parse(check?.text.replace(/^.*?CMD /, "") ?? "null")).toEqual([
    "node",
    "-e",
    expect.stringContaining("/healthz"),
  ]);
});

function copySources({ text }: Instruction): string[] {
  return text
    .split(/\s+/)
    .filter((word) => !word.startsWith("--"))
    .slice(0, -1);
}
