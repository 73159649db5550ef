import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";

/** A real browser without a window, with a profile of its own. */
export interface Browser {
  readonly page: Page;
  /** Every address that its pages have asked for, WebSockets too. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Whatever it may want of the internet, it cannot even ask for its address.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** Needs `chromium`. */
export async function openBrowser(): Promise<Browser> {
  // Only where it is used: it takes a third of a second to load.
  const { chromium } = await import("playwright-core");
  const profile = await mkdtemp(path.join(tmpdir(), "airlock-chromium-"));
  const context = await chromium
    .launchPersistentContext(profile, {
      executablePath: "/usr/bin/chromium",
      args: ARGUMENTS,
      viewport: { width: 1280, height: 800 },
    })
    .catch(async (error: unknown) => {
      await rm(profile, { recursive: true, force: true });
      throw error;
    });
  // A slow machine must not fail a test: vitest's own limit speaks first.
  context.setDefaultTimeout(0);
  const asked: string[] = [];
  context.on("request", (request) => asked.push(request.url()));
  const page = context.pages()[0] ?? (await context.newPage());
  page.on("websocket", (socket) => asked.push(socket.url()));
  return {
    page,
    asked,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
