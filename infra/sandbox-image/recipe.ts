import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** What is in the sandbox image; the `Dockerfile` beside this file has the same. */
export interface Recipe {
  readonly suite: string;
  readonly packages: readonly string[];
  readonly nodeVersion: string;
  readonly bun: { readonly package: string; readonly version: string; readonly integrity: string };
  /** Numbers that the worker's containers use; the image gives them a name. */
  readonly uid: number;
}

const BUN_VERSION = "1.4.4";
/** The baseline build runs on every x64 processor. */
const BUN: Readonly<Record<string, { readonly package: string; readonly integrity: string }>> = {
  x64: {
    package: "@oven/bun-linux-x64-baseline",
    integrity: "sha512-FBU6T21NT+i+rESbi0Z8A8G5xN51c+WZ0v6pIjI6szSzOlqVNv64nf7FPnwNIyxKD1M7Wg5cEobLC/QbzCeLtA==",
  },
  arm64: {
    package: "@oven/bun-linux-aarch64",
    integrity: "sha512-ZTVtpf9zmHSBVPX1sBwe5agGb/rN34yPGg/Hby8e2Ax2uCUA2URZKlZH7qLntK7qaFJCMXh9v0GWNYN2zINz1w==",
  },
};

const require = createRequire(import.meta.url);

export const nodeBinary = (): string => require.resolve("node/bin/node");

export function currentRecipe(): Recipe {
  const bun = BUN[process.arch];
  if (bun === undefined) throw new Error(`there is no Bun for ${process.arch}`);
  const { version } = JSON.parse(readFileSync(require.resolve("node/package.json"), "utf8")) as { version: string };
  return {
    suite: "bookworm",
    packages: ["bash", "ca-certificates", "findutils", "git", "python3", "tar"],
    nodeVersion: version,
    bun: { ...bun, version: BUN_VERSION },
    uid: 65_532,
  };
}

/** The same recipe has the same tag everywhere. What Debian changes meanwhile does not change it: see `--fresh`. */
export function tagOf(recipe: Recipe): string {
  const build = readFileSync(new URL("root-file-system.ts", import.meta.url));
  return createHash("sha256").update(JSON.stringify(recipe)).update(build).digest("hex").slice(0, 12);
}
