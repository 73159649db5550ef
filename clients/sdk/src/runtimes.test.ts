import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { BUN, describeNeeding, openBrowser } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startPageServer } from "../testing/page-server.ts";
import { type ClientRig, startClientRig } from "../testing/rig.ts";
import { takeTour, TOUR_FINDINGS } from "../testing/tour.ts";

let pages: Awaited<ReturnType<typeof startPageServer>>;
let rig: ClientRig;
beforeAll(async () => {
  pages = await startPageServer();
  rig = await startClientRig({ AIRLOCK_CORS_ORIGINS: pages.origin });
});
afterAll(async () => {
  await rig.stop();
  await pages.stop();
});

async function options(): Promise<{ url: string; key: string }> {
  const tenant = await rig.tenant();
  await tenant.hold("util.echo");
  return { url: rig.url, key: tenant.key };
}

test("the SDK does all that it can in Node", async () => {
  expect(await takeTour(await options())).toEqual(TOUR_FINDINGS);
});

describeNeeding("bun", "in Bun", () => {
  test("the SDK does the same", async () => {
    const { url, key } = await options();
    const script = path.resolve(import.meta.dirname, "../testing/bun-tour.ts");
    const { stdout } = await promisify(execFile)(BUN, [script, url, key]);
    expect(JSON.parse(stdout)).toEqual({ bun: expect.stringMatching(/^\d+\./) as string, findings: TOUR_FINDINGS });
  });
});

describeNeeding("chromium", "in a browser", () => {
  test("the SDK does the same, on a page of an origin that the gateway allows", { timeout: 240_000 }, async () => {
    const browser = await openBrowser();
    try {
      await browser.page.goto(pages.origin);
      const tour = `import("/testing/tour.ts").then(({ takeTour }) => takeTour(${JSON.stringify(await options())}))`;
      expect(await browser.page.evaluate(tour)).toEqual(TOUR_FINDINGS);
    } finally {
      await browser.close();
    }
  });
});
