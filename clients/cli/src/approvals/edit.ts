import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Env } from "../context.ts";

/** The input as the person's editor leaves it; a string says why there is none. */
export async function editInput(env: Env, input: unknown): Promise<{ readonly input: unknown } | string> {
  const editor = env["VISUAL"] || env["EDITOR"] || "vi";
  const folder = await mkdtemp(path.join(tmpdir(), "airlock-edit-"));
  const file = path.join(folder, "input.json");
  try {
    await writeFile(file, `${JSON.stringify(input, null, 2)}\n`, { mode: 0o600 });
    // By the shell, because EDITOR may hold arguments.
    const code = await run("sh", ["-c", `${editor} "$1"`, "sh", file]);
    if (code !== 0) return `${editor} ended with ${code}`;
    return { input: JSON.parse(await readFile(file, "utf8")) as unknown };
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(file: string, args: readonly string[]): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: "inherit" });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code));
  });
}
