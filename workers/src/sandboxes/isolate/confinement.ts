import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { promisify } from "node:util";

/** How a host process is walled in, from the outside. Node's permission model is inside of either. */
export interface Confinement {
  readonly kind: "bubblewrap" | "permission-model";
  /** The command that runs Node with these arguments. */
  command(nodeArguments: readonly string[]): { readonly file: string; readonly args: readonly string[] };
}

const run = promisify(execFile);
const PROOF_MS = 10_000;

/** Uses bubblewrap where it works: it may be missing, or user namespaces may be forbidden. */
export async function chooseConfinement(readable: readonly string[], bubblewrap: string): Promise<Confinement> {
  const wrapped = wrapInBubblewrap(readable, bubblewrap);
  const { file, args } = wrapped.command(["--version"]);
  try {
    await run(file, args, { env: {}, timeout: PROOF_MS });
    return wrapped;
  } catch {
    return { kind: "permission-model", command: (nodeArguments) => ({ file: process.execPath, args: nodeArguments }) };
  }
}

function wrapInBubblewrap(readable: readonly string[], bubblewrap: string): Confinement {
  const walls = [
    ...["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...["--uid", "65534", "--gid", "65534", "--hostname", "isolate", "--chdir", "/"],
    ...[process.execPath, ...sharedLibraries(), ...readable].flatMap((path) => ["--ro-bind", realpathSync(path), path]),
    "--",
    process.execPath,
  ];
  return { kind: "bubblewrap", command: (nodeArguments) => ({ file: bubblewrap, args: [...walls, ...nodeArguments] }) };
}

/** What this very Node has loaded is what another one needs: file by file, nothing of /lib or /etc besides. */
function sharedLibraries(): string[] {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true;
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  return sharedObjects.filter((path) => path.startsWith("/") && /\.so(\.|$)/.test(path) && existsSync(path));
}

/** Node's own walls: no child processes, no addons, no files but these. */
export function permissionFlags(readable: readonly string[]): string[] {
  return ["--permission", "--allow-worker", ...readable.map((path) => `--allow-fs-read=${path}`)];
}
