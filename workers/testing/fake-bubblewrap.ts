import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** What the junk host says, and when; `junk-host.ts` says it. */
export const JUNK = {
  beforeReady: ["an exit", "an oversize frame", "no JSON", "no list", "a bad ready"],
  whileRunning: [
    ...["a late oversize frame", "a late unknown type", "a late bad end", "a late bad output", "a late exit"],
    ...["a late result that is no JSON", "a late oversize result", "a late code of no guest"],
  ],
  never: ["silence"],
} as const;

export type Junk = (typeof JUNK)[keyof typeof JUNK][number];

/**
 * Stands in for bubblewrap: the first process that it starts is a host that speaks junk, all later ones are real. So
 * the pool is tested through its own door, with real processes.
 */
export async function makeJunkBubblewrap(kind: Junk): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), "airlock-junk-"));
  const file = path.join(folder, "bwrap");
  const junkHost = path.join(import.meta.dirname, "junk-host.ts");
  const script = `#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift
case "$*" in *--version) exit 0 ;; esac
if [ -e '${folder}/used' ]; then exec "$@"; fi
: > '${folder}/used'
exec '${process.execPath}' --disable-warning=ExperimentalWarning '${junkHost}' '${kind}'
`;
  await writeFile(file, script, { mode: 0o755 });
  return { path: file, remove: () => rm(folder, { recursive: true }) };
}
