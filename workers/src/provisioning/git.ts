import { lookup } from "node:dns/promises";
import { mkdir, rm } from "node:fs/promises";
import { isIP } from "node:net";
import path from "node:path";
import { COMMIT, type EnvironmentDefinition } from "@airlock/shared/domain";
import { findTarget, portOf, type Resolve, type Target } from "../tools/built-in/http/target.ts";
import { firstLines, ProvisionError } from "./failures.ts";
import { authorization, type GitCredential } from "./git-credentials.ts";
import type { Steps } from "./steps.ts";

export type Repository = NonNullable<EnvironmentDefinition["repository"]>;

export interface Git {
  /** The commit that the repository's ref means now. */
  resolve(repository: Repository, folder: string, signal: AbortSignal): Promise<string>;
  /** Answers a folder with the commit's files: without `.git`, hooks, submodules and filters. */
  checkOut(repository: Repository, commit: string, folder: string, signal: AbortSignal): Promise<string>;
}

export interface GitOptions {
  readonly steps: Steps;
  readonly credentials: readonly GitCredential[];
  readonly secrets: { get(name: string): string | undefined };
  /** `host:port` that may be anywhere, and without TLS. */
  readonly allowPrivate: ReadonlySet<string>;
  /** The system's resolver, if absent. */
  readonly resolve?: Resolve;
}

const NOTHING = "/dev/null";
const LOCAL = "refs/airlock/commit";

export function createGit(options: GitOptions): Git {
  const { steps, allowPrivate, resolve = (host) => lookup(host, { all: true }) } = options;

  async function reach(repository: Repository, signal: AbortSignal): Promise<Target> {
    const failed = (why: string): ProvisionError =>
      new ProvisionError("WORKSPACE_FAILED", `the repository ${repository.url} cannot be cloned: ${why}`);
    const { protocol, hostname } = new URL(repository.url);
    if (protocol !== "https:" && !allowPrivate.has(`${hostname}:${portOf(new URL(repository.url))}`)) {
      throw failed("only https is, and http to hosts that the worker's AIRLOCK_HTTP_ALLOW names");
    }
    try {
      return await findTarget(repository.url, { allowPrivate, resolve }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      throw failed((error as Error).message);
    }
  }

  function headerFor({ url, credential }: Repository): string | null {
    if (credential === null) return null;
    const secret = options.secrets.get(credential);
    const fits = options.credentials.some(({ name, prefix }) => name === credential && url.startsWith(prefix));
    if (fits && secret !== undefined) return authorization(secret);
    const message = `this worker has no credential "${credential}" for ${url}: AIRLOCK_GIT_CREDENTIALS names them`;
    throw new ProvisionError("WORKSPACE_FAILED", message);
  }

  async function ask(
    repository: Repository,
    args: readonly [string, ...string[]],
    folder: string,
    signal: AbortSignal,
    network = true,
  ): Promise<string> {
    const header = network ? headerFor(repository) : null;
    const environment = environmentOf(folder, network ? await reach(repository, signal) : null, header);
    const what = `the repository ${repository.url} could not be cloned`;
    const command = ["/usr/bin/git", ...args] as const;
    const end = await steps.run({ command, environment, folder, network }, "WORKSPACE_FAILED", what, signal);
    if (end.exitCode === 0) return end.stdout;
    const said = firstLines(steps.redact(end.stderr));
    throw new ProvisionError("WORKSPACE_FAILED", `${what}: git exited with code ${end.exitCode}: ${said}`);
  }

  return {
    async resolve(repository, folder, signal) {
      const { url, ref } = repository;
      if (COMMIT.test(ref)) return ref;
      const names = ref === "HEAD" ? ["HEAD"] : [ref, `refs/heads/${ref}`, `refs/tags/${ref}`, `refs/tags/${ref}^{}`];
      const told = await ask(repository, ["ls-remote", "--", url, ...names], folder, signal);
      const found = new Map(told.split("\n").map((line) => line.split("\t").toReversed() as [string, string]));
      // A tag that is an object of its own stands for the commit behind it.
      const order = ref === "HEAD" ? ["HEAD"] : [names[1], names[3], names[2], ref];
      const commit = order.map((name) => found.get(name as string)).find((each) => each !== undefined);
      if (commit !== undefined && COMMIT.test(commit)) return commit;
      throw new ProvisionError("WORKSPACE_FAILED", `the repository ${url} has no branch, tag or commit "${ref}"`);
    },

    async checkOut(repository, commit, folder, signal) {
      const bare = path.join(folder, "bare");
      const files = path.join(folder, "files");
      await mkdir(files);
      const git = (args: readonly string[], network: boolean): Promise<string> =>
        ask(repository, [`--git-dir=${bare}`, ...args], folder, signal, network);
      await git(["init", "--quiet", "--bare", "--template=", bare], false);
      const fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
      await git([...fetch, "--", repository.url, `+${commit}:${LOCAL}`], true);
      await git([`--work-tree=${files}`, "checkout", "--quiet", "--force", "--detach", `${LOCAL}^{commit}`], false);
      await rm(bare, { recursive: true });
      return files;
    },
  };
}

/**
 * git as nobody has configured it: no helper, hook or filter is run, no other address is called than the one that was
 * judged, and a secret is a variable of this one program.
 */
function environmentOf(folder: string, target: Target | null, header: string | null): Record<string, string> {
  const settings: [string, string][] = [
    ["protocol.allow", "never"],
    ["core.hooksPath", NOTHING],
    ["core.fsmonitor", "false"],
    ["credential.helper", ""],
    ["submodule.recurse", "false"],
    ["gc.auto", "0"],
    ["maintenance.auto", "false"],
  ];
  if (target !== null) {
    const { url, host, addresses } = target;
    settings.push([`protocol.${url.protocol.slice(0, -1)}.allow`, "always"], ["http.followRedirects", "false"]);
    const pinned = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
    if (isIP(host) === 0) settings.push(["http.curloptResolve", `${host}:${portOf(url)}:${pinned.join(",")}`]);
    if (header !== null) settings.push([`http.${url.href}.extraHeader`, header]);
  }
  return {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    LANG: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: NOTHING,
    GIT_TERMINAL_PROMPT: "0",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
  };
}
