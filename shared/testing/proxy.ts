import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Proxy {
  /** The same URL, through the proxy. */
  readonly url: string;
  /** Breaks what is open and refuses what is new, as a server that died. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

/** Stands between a program and a server, so that a test can take the server away. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.on("error", () => undefined);
      from.once("close", () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = (server.address() as AddressInfo).port;
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String(own);
  return {
    url: url.href,
    async cut() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
    async mend() {
      server.listen(own, "127.0.0.1");
      await once(server, "listening");
    },
  };
}
