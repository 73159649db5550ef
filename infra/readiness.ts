import { createServer } from "node:net";

/** Waits until Airlock answers. The signal ends the wait early. */
export async function waitUntilReady(port: number, signal: AbortSignal, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last = "no answer";
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) });
      const body = await answer.text();
      if (answer.status === 200) return;
      last = `${answer.status} ${body.slice(0, 300)}`;
    } catch (error) {
      last = String((error as Error).cause ?? error);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Airlock was not ready after ${timeoutMs / 1000} s: ${last}`);
}

/** The gateway of a killed Airlock drains for a while before it lets go of its port, so some patience may help. */
export async function requireFreePort(port: number, patienceMs: number): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isFree(port))) {
    if (Date.now() > deadline) throw new Error(`port ${port} is in use; stop what uses it or set AIRLOCK_PORT`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "EADDRINUSE"));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
