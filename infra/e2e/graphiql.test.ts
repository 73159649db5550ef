import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, describeNeeding, openBrowser } from "@airlock/shared/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Rig, startRig } from "./rig.ts";

/** A browser without a graphics card, beside everything else on two cores. */
const PATIENCE_MS = 90_000;

interface Kept {
  readonly activeTabIndex: number;
  readonly tabs?: readonly { readonly operationName: string | null }[];
}

describeNeeding("chromium", "GraphiQL in a browser", () => {
  let site: Server;
  let rig: Rig;
  let browser: Browser;
  beforeAll(async () => {
    site = createServer((_, response) => response.writeHead(204).end());
    await new Promise<void>((resolve) => {
      site.listen(0, "127.0.0.1", resolve);
    });
    rig = await startRig("Postgres alone", { env: { AIRLOCK_HTTP_ALLOW: siteHost() } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await rig.stop();
    site.close();
  });

  const siteHost = (): string => `127.0.0.1:${(site.address() as AddressInfo).port}`;
  const prompt = () => browser.page.getByLabel("API key");
  const open = () => browser.page.getByRole("button", { name: "Open", exact: true }).click();
  // Asks for the text as it is laid out: without that a browser that has no screen may never draw the next answer.
  const shown = async () => (await browser.page.locator(".result-window").innerText()).replaceAll("\u00a0", " ");
  const shows = (text: string) => expect.poll(shown, { timeout: PATIENCE_MS }).toContain(text);
  const tabs = () => browser.page.getByRole("tab");

  /** Opens a ready document and runs it. */
  async function run(name: string): Promise<void> {
    const tab = browser.page.getByRole("tab", { name });
    await tab.getByRole("button", { name }).click();
    // It keeps which tab is open half a second later: by then it also knows the operation that the tab has.
    await browser.page.waitForFunction((name) => {
      const kept = JSON.parse(localStorage.getItem("graphiql:tabState") ?? "{}") as Kept;
      return kept.tabs?.[kept.activeTabIndex]?.operationName === name;
    }, name);
    await browser.page.getByRole("button", { name: /^Execute/ }).click();
  }

  test(
    "it asks for a key once, and the ready documents submit, watch and approve by clicking",
    { timeout: PATIENCE_MS },
    async () => {
      const { page } = browser;
      // The ready program calls a public address; ours calls a site that this test runs.
      await page.route("**/graphql", (route) => {
        const text = route.request().postData();
        return route.continue(
          text === null ? {} : { postData: text.replace("https://example.com", `http://${siteHost()}`) },
        );
      });
      await page.goto(`${rig.fleet.url}/graphql`);
      await prompt().fill("not-a-key");
      await open();
      await page.getByText("This key is unknown or revoked.").waitFor();
      await prompt().fill(rig.fleet.key);
      await open();
      await prompt().waitFor({ state: "hidden" });

      await run("Submit");
      await shows('"QUEUED"');
      await run("Watch");
      await shows('"PARKED"');
      await page.getByRole("button", { name: /^Stop/ }).click();
      await run("Pending");
      await shows('"http.request"');
      await run("Approve");
      await shows('"APPROVED"');
      await run("Watch");
      await shows('"SUCCEEDED"');
      await shows("204");
    },
  );

  test("loaded again it still has the key and the same tabs", { timeout: PATIENCE_MS }, async () => {
    const { page } = browser;
    await page.reload();
    await page.getByRole("tab", { name: "Approve" }).waitFor();
    expect(await tabs().count()).toBe(4);
    await run("Pending");
    await shows('"edges": []');
    expect(await prompt().isVisible()).toBe(false);
  });

  test(
    "the schema is there to complete and read, and nobody but the gateway was asked for anything",
    { timeout: PATIENCE_MS },
    async () => {
      const { page } = browser;
      await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
      await page.getByText("Root Types").waitFor();
      const others = browser.asked.filter((url) => !url.replace(/^blob:/, "").startsWith(`${rig.fleet.url}/`));
      expect(others).toEqual([]);
      expect(browser.asked).not.toEqual([]);
    },
  );
});
