import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, vi } from "vitest";
import { DOUBLE_CREDENTIALS, startVercelDouble, type VercelDouble } from "../../../testing/vercel-double/index.ts";
import { describeConformance } from "../conformance.ts";
import { describeHostile } from "../hostile.ts";
import { createVercelProvider } from "./index.ts";

// One of the suite makes fifty sandboxes.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

describeNeeding(["root", "bwrap"], "the provider vercel, over a double of its API", () => {
  let double: VercelDouble;
  beforeAll(async () => {
    double = await startVercelDouble();
  });
  afterAll(() => double.close());

  const makeProvider = () =>
    createVercelProvider({ credentials: DOUBLE_CREDENTIALS, fetch: (input, init) => double.fetch(input, init) });
  describeConformance("vercel", makeProvider);
  describeHostile("vercel", makeProvider);
});
