import { readFile } from "node:fs/promises";
import path from "node:path";
import type { FileInput } from "@airlock/client";
import { UsageError } from "./command.ts";

/** `--file data.csv --file in/data.csv=../data.csv`: the path in the work area, where it is another, comes first. */
export async function readFileArguments(given: readonly string[] | undefined): Promise<FileInput[] | undefined> {
  if (given === undefined) return undefined;
  return Promise.all(
    given.map(async (text) => {
      const at = text.indexOf("=");
      const local = text.slice(at + 1);
      const named = at === -1 ? nameOf(local) : text.slice(0, at);
      const bytes = await readFile(local).catch((error: Error) => {
        throw new UsageError(`cannot read ${local}: ${error.message}`);
      });
      return { path: named, base64: bytes.toString("base64") };
    }),
  );
}

/** As it is below this folder, else only its last part. */
function nameOf(local: string): string {
  const below = path.relative(".", local);
  const name = below.startsWith("..") || path.isAbsolute(below) ? path.basename(local) : below;
  return name.split(path.sep).join("/");
}
