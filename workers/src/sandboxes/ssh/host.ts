import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { execFile } from "node:child_process";
import { agentTexts } from "../../guests/agents-on-path.ts";
import { ask, MachineError } from "./ask.ts";
import { connect, type SshChild, type SshFiles, writeKnownHost } from "./connection.ts";
import { Gate } from "./gate.ts";
import type { SshMachine } from "./machines.ts";
import { HOME_FOLDER, REMOTE_FILES } from "./scripts.ts";
import type { MachineFacts } from "./walls.ts";

const run = promisify(execFile);
/** Below the ten of sshd's MaxStartups: others log in there, too. */
const LOGINS = 6;
const WORD = /^[A-Za-z0-9._,/-]+$/;

/** One machine, as this worker reaches it. */
export class SshHost {
  readonly name: string;
  readonly #machine: SshMachine;
  readonly #files: SshFiles;
  readonly #gate = new Gate(LOGINS);
  #ready: Promise<MachineFacts> | null = null;

  constructor(name: string, machine: SshMachine, files: SshFiles) {
    this.name = name;
    this.#machine = machine;
    this.#files = files;
  }

  /** Brings what is needed over there, once; tried again after a failure. Throws `MachineError`. */
  ready(): Promise<MachineFacts> {
    this.#ready ??= this.#install().catch((error: unknown) => {
      this.#ready = null;
      throw error;
    });
    return this.#ready;
  }

  /** Runs one of the installed scripts to its end. */
  async ask(script: string, args: readonly string[]): Promise<string> {
    await this.ready();
    return this.#short(scriptCommand(script, args));
  }

  /** Starts one of the installed scripts; `loggedIn` is to be called when it is heard of, or has ended. */
  async open(script: string, args: readonly string[]): Promise<SshChild & { readonly loggedIn: () => void }> {
    const loggedIn = await this.#gate.enter();
    const command = scriptCommand(script, args);
    return { ...connect(this.#files, this.name, this.#machine, command, ["pipe", "pipe", "pipe"]), loggedIn };
  }

  async #install(): Promise<MachineFacts> {
    await writeKnownHost(this.#files, this.name, this.#machine);
    const archive = await packInstallation(this.#files.folder);
    // A second worker that brings the same finds it there, or loses the race to rename it.
    const bring =
      `set -e; umask 077; to=.airlock/${installed()}; if ! [ -e $to ]; then mkdir -p $to.$$; ` +
      `tar -x -f - -C $to.$$; mv -T $to.$$ $to 2>/dev/null || rm -rf $to.$$; fi`;
    await this.#short(`exec sh -c '${bring}'`, archive);
    return readFacts(await this.#short(scriptCommand("facts.sh", [])));
  }

  async #short(command: string, input?: Buffer): Promise<string> {
    const loggedIn = await this.#gate.enter();
    try {
      return await ask(connect(this.#files, this.name, this.#machine, command, ["pipe", "pipe", "pipe"]), input);
    } finally {
      loggedIn();
    }
  }
}

function scriptCommand(script: string, args: readonly string[]): string {
  const odd = args.find((arg) => !WORD.test(arg));
  if (odd !== undefined) throw new Error(`not a plain word: ${odd}`);
  return ["exec", "sh", `${HOME_FOLDER}/${installed()}/${script}`, ...args].join(" ");
}

function contents(): Readonly<Record<string, string>> {
  return { ...REMOTE_FILES, ...agentTexts() };
}

let name: string | null = null;

/** Another version of Airlock brings another folder: both may be in use. */
function installed(): string {
  name ??= `agent-${createHash("sha256").update(JSON.stringify(contents())).digest("hex").slice(0, 16)}`;
  return name;
}

async function packInstallation(folder: string): Promise<Buffer> {
  const staging = await mkdtemp(path.join(folder, "install-"));
  try {
    for (const [file, text] of Object.entries(contents())) await writeFile(path.join(staging, file), text);
    const options = { encoding: "buffer", maxBuffer: 64 * 1024 * 1024 } as const;
    return (await run("tar", ["-c", "-f", "-", "-C", staging, "."], options)).stdout;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function readFacts(text: string): MachineFacts {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  const value = (key: string) => lines.find(([first]) => first === key)?.[1] ?? "";
  const group = (["1", "2", "user", "none"] as const).find((each) => each === value("group"));
  if (group === undefined) {
    throw new MachineError("it does not say what it is; does its shell print something at each login?");
  }
  return {
    arch: value("arch"),
    hasPython: value("python") === "yes",
    isRoot: value("user") === "0",
    group,
    links: lines.filter(([key]) => key === "link").map(([, link = "", target = ""]) => [link, target] as const),
    folders: lines.filter(([key]) => key === "folder").map(([, folder = ""]) => folder),
  };
}
