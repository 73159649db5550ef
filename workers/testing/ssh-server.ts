import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "@airlock/shared/runtime";
import type { SshMachine } from "../src/sandboxes/ssh/machines.ts";

const run = promisify(execFile);

/** A private sshd on loopback, with keys of its own; whoever logs in has a home folder of its own, too. */
export interface SshServer {
  readonly machine: SshMachine;
  /** The home folder over there. */
  readonly home: string;
  /** Another key pair, which it does not know. */
  readonly strangerKey: string;
  close(): Promise<void>;
}

export interface SshServerOptions {
  /** PATH of those who log in. */
  readonly path?: string;
  /** What their shell prints before it does anything. */
  readonly greeting?: string;
  /** Who they are after their login; else who runs this. */
  readonly uid?: number;
}

export async function startSshServer(options: SshServerOptions = {}): Promise<SshServer> {
  const folder = await mkdtemp(path.join(tmpdir(), "airlock-sshd-"));
  const file = (name: string) => path.join(folder, name);
  const home = file("home");
  await mkdir(home);
  if (options.uid !== undefined) {
    await chmod(folder, 0o711);
    await chown(home, options.uid, options.uid);
  }
  for (const key of ["host", "user", "stranger"]) {
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file(key)]);
  }
  await copyFile(file("user.pub"), file("authorized"));
  // Where sshd drops its rights, on Debian; there from its first start on.
  if (process.getuid?.() === 0) await mkdir("/run/sshd", { recursive: true, mode: 0o755 });
  const port = await freePort();
  await writeFile(file("config"), configuration(file, port, home, options));
  // A test that is killed takes it along.
  const withUs = ["--pdeathsig", "TERM", "--", "/usr/sbin/sshd", "-D", "-f", file("config"), "-E", file("log")];
  const server = spawn("setpriv", withUs, { stdio: "ignore" });
  const ended = once(server, "exit");
  await Promise.race([
    listening(port),
    ended.then(async () => Promise.reject(new Error(await readFile(file("log"), "utf8")))),
  ]);
  const hostKey = (await readFile(file("host.pub"), "utf8")).trim();
  return {
    machine: { host: "127.0.0.1", port, user: userInfo().username, identityFile: file("user"), hostKey },
    home,
    strangerKey: file("stranger"),
    async close() {
      server.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(file: (name: string) => string, port: number, home: string, options: SshServerOptions): string {
  const { path: searched = process.env["PATH"], greeting, uid } = options;
  const first = greeting === undefined ? "" : `echo "${greeting}"; echo "${greeting}" >&2; `;
  const as = uid === undefined ? "" : `/usr/bin/setpriv --reuid ${uid} --regid ${uid} --clear-groups `;
  return [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${file("host")}`,
    `AuthorizedKeysFile ${file("authorized")}`,
    "PidFile none",
    "UsePAM no",
    "PasswordAuthentication no",
    "StrictModes no",
    // The login shell reads no file of the developer's.
    `SetEnv HOME=${home} PATH=${searched}`,
    `ForceCommand ${first}cd ${home} && exec ${as}/bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
    "",
  ].join("\n");
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const up = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (up) return;
    await sleep(20);
  }
}
