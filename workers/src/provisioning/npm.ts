import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Dependencies } from "@airlock/shared/domain";
import { firstLines, ProvisionError } from "./failures.ts";
import { faultOfLock } from "./lock.ts";
import type { LayerStore, TakenLayer } from "./layer-store.ts";
import { SharedWork } from "./shared-work.ts";
import type { Step } from "./step.ts";
import type { Steps } from "./steps.ts";

/** Installs npm packages, once for each set of them. */
export interface Npm {
  /** What the ranges mean now: the content of a lock. Asked again after a few minutes only. */
  resolve(dependencies: Dependencies, signal: AbortSignal): Promise<string>;
  /** A folder that is what `node_modules` is to hold. */
  install(dependencies: Dependencies, lock: string, signal: AbortSignal): Promise<TakenLayer>;
}

export interface NpmOptions {
  /** Null: npm's own. */
  readonly registry: string | null;
  /** The text of an `.npmrc` with what the registry asks for; seen by npm alone. */
  readonly userConfig: string | null;
  readonly layers: LayerStore;
  readonly steps: Steps;
}

const MEANS_THIS_MS = 10 * 60_000;
const MAX_KNOWN = 1_000;
const LOCK_BYTES = 4 * 1024 * 1024;
const PACKAGE = path.dirname(createRequire(import.meta.url).resolve("npm/package.json"));
export const NPM_CLI = path.join(PACKAGE, "bin/npm-cli.js");
export const NPM_PACKAGE = PACKAGE;

/** The values of an `.npmrc` that nobody may see. */
export function secretsOf(userConfig: string): string[] {
  return [...userConfig.matchAll(/^\s*[^;#=]*(?:_auth|_authToken|_password)\s*=\s*"?([^"\s]+)/gim)].map(
    ([, secret]) => secret as string,
  );
}

/** No program of a package runs, and nothing but the registry is asked, whatever a package says it needs. */
const ALWAYS = {
  npm_config_ignore_scripts: "true",
  npm_config_allow_git: "none",
  npm_config_allow_remote: "none",
  npm_config_allow_file: "none",
  npm_config_allow_directory: "none",
  npm_config_omit: "dev",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_update_notifier: "false",
  npm_config_progress: "false",
  npm_config_logs_max: "0",
  npm_config_loglevel: "error",
  npm_config_globalconfig: "/dev/null",
  // A lock that names no registry can be used with any.
  npm_config_omit_lockfile_registry_resolved: "true",
  npm_config_replace_registry_host: "always",
} as const;

export function createNpm(options: NpmOptions): Npm {
  const { layers, steps } = options;
  const known = new Map<string, { readonly lock: string; readonly until: number }>();
  const resolving = new SharedWork<string>();

  async function run(folder: string, args: readonly string[], signal: AbortSignal): Promise<void> {
    const userConfig = path.join(folder, "npmrc");
    await writeFile(userConfig, options.userConfig ?? "", { mode: 0o600 });
    const step: Step = {
      command: [process.execPath, NPM_CLI, ...args],
      folder,
      network: true,
      environment: {
        ...ALWAYS,
        PATH: "/usr/bin:/bin",
        HOME: folder,
        LANG: "C.UTF-8",
        npm_config_cache: path.join(folder, "cache"),
        npm_config_userconfig: userConfig,
        ...(options.registry !== null && { npm_config_registry: options.registry }),
      },
      sees: [
        [process.execPath, process.execPath],
        [PACKAGE, PACKAGE],
      ],
    };
    const what = "the dependencies could not be installed";
    const end = await steps.run(step, "PROVISION_FAILED", what, signal);
    if (end.exitCode === 0) return;
    // The first line is an error's code alone.
    const said = firstLines(steps.redact(end.stderr.replaceAll(/^npm error /gm, "")), 2);
    throw new ProvisionError("PROVISION_FAILED", `${what}: npm exited with code ${end.exitCode}: ${said}`);
  }

  const resolve = (text: string, signal: AbortSignal): Promise<string> =>
    layers.within(async (folder) => {
      await writeManifest(folder, text, null);
      await run(folder, ["install", "--package-lock-only"], signal);
      const lock = await readFile(path.join(folder, "package-lock.json"), "utf8");
      const fault = lock.length > LOCK_BYTES ? `their lock has more than ${LOCK_BYTES} bytes` : faultOfLock(lock);
      if (fault !== null) {
        throw new ProvisionError("PROVISION_FAILED", `the dependencies could not be installed: ${fault}`);
      }
      if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value as string);
      known.set(text, { lock, until: Date.now() + MEANS_THIS_MS });
      return lock;
    });

  return {
    async resolve(dependencies, signal) {
      const text = JSON.stringify(dependencies);
      const found = known.get(text);
      if (found !== undefined && found.until > Date.now()) return found.lock;
      known.delete(text);
      return resolving.do(text, (stop) => resolve(text, stop), signal);
    },
    install(dependencies, lock, signal) {
      const build = async (folder: string, stop: AbortSignal): Promise<string> => {
        const modules = path.join(folder, "node_modules");
        await writeManifest(folder, JSON.stringify(dependencies), lock);
        await run(folder, ["ci"], stop);
        // Where all packages are optional and none fits this machine there is no folder.
        await mkdir(modules, { recursive: true });
        return modules;
      };
      return layers.take(`npm-${hashOf([lock, platform()])}`, build, signal);
    },
  };
}

async function writeManifest(folder: string, dependencies: string, lock: string | null): Promise<void> {
  const manifest = `{"name":"task","version":"0.0.0","private":true,"dependencies":${dependencies}}`;
  await writeFile(path.join(folder, "package.json"), manifest);
  if (lock !== null) await writeFile(path.join(folder, "package-lock.json"), lock);
}

/** What a package chooses its compiled parts by. */
export function platform(): string {
  return `${process.platform}-${process.arch}-${process.versions.modules}`;
}

export function hashOf(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
