import { Console } from "node:console";

/** What of Bun the agent uses or replaces. */
export interface BunGlobal {
  readonly Transpiler: new (options: { readonly loader: "ts" }) => { transformSync(code: string): string };
  plugin(plugin: { readonly name: string; setup(build: BunModules): void }): void;
  sleep: unknown;
  nanoseconds: unknown;
  randomUUIDv7: unknown;
}

interface BunModules {
  module(path: string, load: () => { readonly contents: string; readonly loader: "ts" }): void;
}

/** Null: this is Node. */
export function findBun(): BunGlobal | null {
  return (globalThis as { readonly Bun?: BunGlobal }).Bun ?? null;
}

/** Bun's console goes straight to the descriptors; Node's goes to the streams of `process`. */
export function replaceConsole(): void {
  const streams = { stdout: process.stdout, stderr: process.stderr };
  const nodes = new Console(streams) as unknown as Record<string, unknown>;
  for (const [name, method] of Object.entries(nodes)) {
    if (typeof method === "function") Object.assign(console, { [name]: method.bind(nodes) as unknown });
  }
}

/** Clock, timers and randomness have names of Bun's own, too: they go by those of the guest that are replaced already. */
export function replaceBunNames(bun: BunGlobal): void {
  const { setTimeout: later, Date: GuestDate } = globalThis;
  const { getRandomValues } = crypto;
  const { now } = performance;
  bun.nanoseconds = () => Math.round(now() * 1e6);
  bun.sleep = (until: number | Date) =>
    new Promise<void>((resolve) =>
      later(resolve, until instanceof GuestDate ? Number(until) - GuestDate.now() : until),
    );
  bun.randomUUIDv7 = (encoding: BufferEncoding | "buffer" = "hex", at: number | Date = GuestDate.now()) => {
    const bytes = Buffer.alloc(16);
    getRandomValues(bytes);
    bytes.writeUIntBE(Number(at), 0, 6);
    bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
    bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
    if (encoding === "buffer") return bytes;
    if (encoding !== "hex") return bytes.toString(encoding);
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
}
