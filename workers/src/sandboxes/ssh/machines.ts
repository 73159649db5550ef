import { readFile } from "node:fs/promises";
import { z } from "zod";

const word = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, "letters, digits, dots, dashes and underscores only");

const machine = z.strictObject({
  /** Never begins with a dash, so that ssh takes it for no option. */
  host: z.string().regex(/^[A-Za-z0-9_:][A-Za-z0-9._:-]*$/, "a host name or an address"),
  port: z.int().min(1).max(65_535).default(22),
  user: word,
  /** A file of this worker's machine with the private key. */
  identityFile: z.string().startsWith("/"),
  /** What the machine must show, as a line of its `/etc/ssh/ssh_host_*.pub`: nothing is trusted on first use. */
  hostKey: z.string().regex(/^[a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?$/, "a public key like: ssh-ed25519 AAAA…"),
});

export type SshMachine = z.output<typeof machine>;

/**
 * The machines that this installation's operator lets tasks run on, by name. They are the operator's to list and not an
 * environment's: whoever may make environments must not send this worker's keys to hosts of their choice.
 */
const machines = z.record(word, machine);

export type SshMachines = Readonly<Record<string, SshMachine>>;

/** A worker that was told to use machines and cannot read which does not start. */
export async function readMachines(file: string | null): Promise<SshMachines> {
  if (file === null) return {};
  try {
    return machines.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new Error(`AIRLOCK_SSH_MACHINES: ${file} is not usable: ${why}`, { cause: error });
  }
}

export const sshConfig = z.strictObject({
  machine: word,
  /** Limits that may go unenforced where that machine cannot enforce them. */
  acceptUnenforced: z.array(z.enum(["memory", "pids"])).default([]),
});

export type SshConfig = z.output<typeof sshConfig>;
