import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { agentSource, pythonAgentSource } from "../../guests/agent-source.ts";

const run = promisify(execFile);

/** All of the host's programs that a task may need, and no others. */
const COMMANDS =
  "bash sh awk base64 basename cat chmod cmp comm cp cut date diff dirname du env expr false find fold grep gunzip gzip head id join jq ln ls md5sum mkdir mkfifo mktemp mv nl od paste printf pwd readlink realpath rm rmdir sed seq setsid sha256sum sleep sort split stat tac tail tar tee test timeout touch tr true truncate uname uniq unshare wc which xargs yes".split(
    " ",
  );
/** The machine's own: one that a person installed for themselves may lie anywhere. */
export const HOST_PYTHON = "/usr/bin/python3";
const SEARCHED = ["/usr/bin", "/bin", "/usr/local/bin"];
const ACCOUNTS = {
  passwd: "guest:x:65534:65534:guest:/home/guest:/bin/bash\n",
  group: "guest:x:65534:\n",
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
};

/** A root that no worker has said it uses for this long is removed. */
const UNUSED_MS = 24 * 3600_000;

export interface SandboxRoot {
  /** Its `usr`, `etc` and `agent` are seen in every sandbox, read-only. */
  readonly path: string;
  /** The folder of Python's own modules on the host; null where there is no Python. */
  readonly pythonLibrary: string | null;
}

/** Copies what a sandbox sees into a folder that everyone may read: the originals may lie where nobody else may go. */
export async function makeRoot(base: string): Promise<SandboxRoot> {
  const python = await findPython();
  const programs = new Map<string, string>([["node", process.execPath]]);
  for (const name of COMMANDS) {
    const found = SEARCHED.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
    if (found !== undefined) programs.set(name, realpathSync(found));
  }
  if (python !== null) programs.set("python3", python.program);
  const libraries = await findLibraries([...programs.values(), ...(python?.extensions ?? [])]);
  const agents = { "agent.cjs": agentSource(), "agent.py": pythonAgentSource() };
  const files = [...programs.values(), ...libraries].map((file) => {
    const { size, mtimeMs } = statSync(file);
    return [file, size, mtimeMs];
  });
  const hash = createHash("sha256")
    .update(JSON.stringify([files, agents, ACCOUNTS, python]))
    .digest("hex")
    .slice(0, 16);
  const target = path.join(base, `root-${hash}`);
  if (!existsSync(target)) await build(target, { programs, libraries, agents, python: python?.library ?? null });
  await touchRoot(target);
  await removeUnused(base);
  return { path: target, pythonLibrary: python?.library ?? null };
}

/** Says that it is in use. */
export async function touchRoot(target: string): Promise<void> {
  const now = new Date();
  await utimes(target, now, now);
}

async function removeUnused(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const found = path.join(base, name);
    if (!name.startsWith("root-") || Date.now() - statSync(found).mtimeMs < UNUSED_MS) continue;
    await rm(found, { recursive: true, force: true });
  }
}

interface Python {
  readonly program: string;
  readonly library: string;
  /** Its modules of machine code, which need libraries as programs do. */
  readonly extensions: readonly string[];
}

interface Contents {
  readonly programs: ReadonlyMap<string, string>;
  readonly libraries: readonly string[];
  readonly agents: Readonly<Record<string, string>>;
  readonly python: string | null;
}

async function build(target: string, { programs, libraries, agents, python }: Contents): Promise<void> {
  const draft = `${target}.${process.pid}.${performance.now()}`;
  const put = async (file: string, at: string) => {
    const to = path.join(draft, at);
    await mkdir(path.dirname(to), { recursive: true });
    await copyFile(file, to, constants.COPYFILE_FICLONE);
    await chmod(to, 0o755);
  };
  for (const [name, file] of programs) await put(file, `usr/bin/${name}`);
  for (const file of libraries) await put(realpathSync(file), file.replace(/^\/(lib[^/]*)\//, "/usr/$1/"));
  // The place where it is mounted; copying it would take longer than all the rest.
  if (python !== null) await mkdir(path.join(draft, python), { recursive: true });
  await mkdir(path.join(draft, "etc"));
  await mkdir(path.join(draft, "agent"));
  for (const [name, text] of Object.entries(ACCOUNTS)) await writeFile(path.join(draft, "etc", name), text);
  for (const [name, text] of Object.entries(agents)) await writeFile(path.join(draft, "agent", name), text);
  for (const name of ["lib", "lib64", "bin"]) {
    await mkdir(path.join(draft, "usr", name), { recursive: true });
    await symlink(`usr/${name}`, path.join(draft, name));
  }
  try {
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another worker was faster.
    if (!existsSync(target)) throw error;
  }
}

/** As the loader itself tells it: file by file, nothing of /lib besides. */
async function findLibraries(programs: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  // It fails where one of them needs none, and has told of the others all the same.
  const { stdout } = await run("ldd", programs as string[]).catch((error: { stdout?: string }) => error);
  for (const [, file = ""] of (stdout ?? "").matchAll(/^\s.*?(\/\S+) \(0x/gm)) if (existsSync(file)) found.add(file);
  return [...found];
}

async function findPython(): Promise<Python | null> {
  const ask = "import sys, sysconfig; print(sys.executable); print(sysconfig.get_path('stdlib'))";
  const { stdout } = await run(HOST_PYTHON, ["-I", "-c", ask]).catch(() => ({ stdout: "" }));
  const [program, library] = stdout.split("\n");
  if (!program || !library || !existsSync(library)) return null;
  const folder = path.join(library, "lib-dynload");
  const extensions = existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
  return { program: realpathSync(program), library, extensions };
}
