import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { afterAll, expect, it } from "vitest";
import { describeConformance } from "../conformance.ts";
import { createDockerProvider } from "./index.ts";

// Suites are made before any hook runs, and theirs need the engine's socket.
const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

describeNeeding("docker", "docker", () => {
  describeConformance("docker", () => createDockerProvider(engine));

  it("has measured its share of the processor and user namespaces, too, and what its image can run", async () => {
    const provider = createDockerProvider(engine);
    afterAll(() => provider.close());
    expect(await provider.probe()).toMatchObject({
      isolation: {
        enforced: {
          cpu: true,
          userNamespaces: expect.any(Boolean) as boolean,
          languages: expect.arrayContaining(["JAVASCRIPT", "PYTHON", "BUN"]) as string[],
        },
      },
    });
  });
});
