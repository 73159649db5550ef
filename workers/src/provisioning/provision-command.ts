import { cp, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { firstLines, ProvisionError } from "./failures.ts";
import { NPM_PACKAGE } from "./npm.ts";
import type { Steps } from "./steps.ts";

export interface ProvisionCommand {
  readonly command: string;
  /** What the work area begins with; null: nothing. */
  readonly files: string | null;
  /** What `/work/node_modules` is; null: nothing. */
  readonly modules: string | null;
  /** Null: npm's own. */
  readonly registry: string | null;
}

/** Where the command finds Node and npm. */
const OURS = "/airlock";

/**
 * Runs an environment's command where the program will run, and answers the folder that it left. The command is its
 * author's, and what it runs may be anybody's: it runs behind walls or not at all.
 */
export async function runProvisionCommand(
  { command, files, modules, registry }: ProvisionCommand,
  steps: Steps,
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const what = "the provision command failed";
  if ((await steps.bubblewrap) === null) {
    throw new ProvisionError("PROVISION_FAILED", `${what}: this worker has no bubblewrap to run it in`);
  }
  const work = path.join(folder, "work");
  if (files === null) await mkdir(work);
  else await cp(files, work, { recursive: true, verbatimSymlinks: true });
  const place = path.join(work, "node_modules");
  if (modules !== null) {
    await rm(place, { recursive: true, force: true });
    await mkdir(place);
  }
  const end = await steps.run(
    {
      command: ["/usr/bin/bash", "-lc", command],
      folder: work,
      seenAt: "/work",
      network: true,
      environment: {
        PATH: `${OURS}/bin:/usr/local/bin:/usr/bin:/bin`,
        HOME: "/tmp",
        LANG: "C.UTF-8",
        TZ: "UTC",
        npm_config_update_notifier: "false",
        ...(registry !== null && { npm_config_registry: registry }),
      },
      sees: [
        [process.execPath, `${OURS}/bin/node`],
        [NPM_PACKAGE, `${OURS}/npm`],
      ],
      links: [["../npm/bin/npm-cli.js", `${OURS}/bin/npm`]],
      ...(modules !== null && { inFolder: [[modules, "/work/node_modules"]] }),
    },
    "PROVISION_FAILED",
    what,
    signal,
  );
  if (end.exitCode !== 0) {
    const said = firstLines(steps.redact(end.stderr));
    throw new ProvisionError("PROVISION_FAILED", `${what} with exit code ${end.exitCode}: ${said}`);
  }
  // The programs' own packages are a layer of their own above it.
  if (modules !== null) await rm(place, { recursive: true, force: true });
  return work;
}
