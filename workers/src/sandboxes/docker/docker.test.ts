import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { describeConformance } from "../conformance.ts";
import { createDockerProvider } from "./index.ts";

// Suites are made before any hook runs, and theirs need the engine's socket.
const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

describeNeeding("docker", "docker", () => {
  describeConformance("docker", () => createDockerProvider(engine));
});
