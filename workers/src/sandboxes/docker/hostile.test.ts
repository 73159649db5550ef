import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { describeHostile } from "../hostile.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

describeNeeding("docker", "hostile programs", () => {
  describeHostile("docker", () => createDockerProvider(engine));
});
