import path from "node:path";

const architecture = process.arch === "arm64" ? "aarch64" : process.arch;

/** In the platform's package: `bun` itself only links to it, in an install script that we do not need to run. */
export const BUN = path.resolve(
  import.meta.dirname,
  `../../node_modules/@oven/bun-${process.platform}-${architecture}/bin/bun`,
);
