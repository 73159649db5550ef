import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ClientRig, startClientRig, type Tenant } from "@airlock/client/testing";
import { type Ended, runBinary, type RunOptions } from "./binary.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** A real gateway and worker, and the binary with a key to them. */
export interface CliRig extends Pick<ClientRig, "url" | "fleet"> {
  /** Of the rig's own, with what was written into it. */
  file(name: string, text: string): Promise<string>;
  user(): Promise<CliUser>;
  stop(): Promise<void>;
}

export interface CliUser extends Tenant {
  readonly env: Readonly<Record<string, string>>;
  readonly airlock: (args: readonly string[], options?: RunOptions) => Promise<Ended>;
  /** The same with --json: what it printed, parsed. */
  readonly json: <T>(args: readonly string[], options?: RunOptions) => Promise<T>;
  readonly terminal: (args: readonly string[], env?: Readonly<Record<string, string>>) => Terminal;
}

/** `env`: for gateway and worker. */
export async function startCliRig(env: Readonly<Record<string, string>> = {}): Promise<CliRig> {
  const folder = await mkdtemp(path.join(tmpdir(), "airlock-cli-"));
  const rig = await startClientRig(env);
  return {
    url: rig.url,
    fleet: rig.fleet,
    async file(name, text) {
      const file = path.join(folder, name);
      await writeFile(file, text);
      return file;
    },
    async user() {
      const tenant = await rig.tenant();
      const env = { AIRLOCK_URL: rig.url, AIRLOCK_KEY: tenant.key };
      const airlock = (args: readonly string[], options: RunOptions = {}): Promise<Ended> =>
        runBinary(args, { ...options, env: { ...env, ...options.env } });
      return {
        ...tenant,
        env,
        airlock,
        json: async (args, options) => parse(await airlock([...args, "--json"], options)),
        terminal: (args, more) => openTerminal(args, { ...env, ...more }),
      };
    },
    async stop() {
      await rig.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function parse<T>({ stdout, stderr, code }: Ended): T {
  if (stdout === "") throw new Error(`nothing on the standard output; exit code ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
