import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "..");
const bin = (name: string): string => path.join(ROOT, "node_modules", ".bin", name);

/** Files that a script writes and a review reads. The script, run with `--check`, fails when the file is not current. */
const GENERATED = [
  { file: "gateway/schema.graphql", script: "gateway/src/print-schema.ts" },
  { file: "shared/src/db/schema.sql", script: "infra/dump-schema.ts" },
  { file: "clients/sdk/src/generated.ts", script: "clients/sdk/generate/main.ts" },
];

interface Check {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

const CHECKS: readonly Check[] = [
  { name: "types", command: [bin("turbo"), "run", "typecheck", "--output-logs=errors-only", "--continue"] },
  { name: "lint", command: [bin("oxlint"), "--quiet"] },
  { name: "format", command: [bin("oxfmt"), "--check", "."] },
  { name: "unused", command: [bin("knip"), "--no-progress"] },
  ...GENERATED.map(({ file, script }) => ({
    name: `generated ${file}`,
    command: [process.execPath, path.join(ROOT, script), "--check"] as const,
  })),
];

/** One after the other: each already uses all cores, and their reports stay apart. */
async function main(): Promise<number> {
  const failed: string[] = [];
  for (const check of CHECKS) {
    const started = performance.now();
    const { code, output } = await run(check);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${code === 0 ? "ok    " : "FAILED"} ${check.name} (${seconds} s)`);
    if (code === 0) continue;
    failed.push(check.name);
    console.log(output.trimEnd().replaceAll(/^/gm, "  | "));
  }
  console.log(failed.length === 0 ? "all checks passed" : `${failed.length} failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

function run({ command: [file, ...args] }: Check): Promise<{ code: number; output: string }> {
  if (!existsSync(file)) return Promise.resolve({ code: 1, output: `${file} is missing` });
  const env = {
    ...process.env,
    TURBO_TELEMETRY_DISABLED: "1",
    TURBO_NO_UPDATE_NOTIFIER: "1",
    DO_NOT_TRACK: "1",
    NO_COLOR: "1",
  };
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", (error) => resolve({ code: 1, output: error.message }));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

process.exitCode = await main();
