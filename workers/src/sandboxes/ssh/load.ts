import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { InputFile, Layer } from "../port.ts";

const run = promisify(execFile);

/** What goes to a machine before a program starts: archives, one behind the other. */
export interface Load {
  readonly archives: readonly { readonly file: string; readonly bytes: number }[];
  remove(): Promise<void>;
}

/** The first archive is what `inside.sh` starts a guest with, copies included; the others are layers that it sees. */
export async function packLoad(
  folder: string,
  walls: readonly string[],
  filter: Buffer,
  files: readonly InputFile[],
  layers: { readonly copied: readonly Layer[]; readonly seen: readonly Layer[] },
): Promise<Load> {
  const place = await mkdtemp(path.join(folder, "load-"));
  const staging = path.join(place, "start");
  await mkdir(path.join(staging, "work"), { recursive: true });
  await writeFile(path.join(staging, "walls"), walls.map((wall) => `${wall}\0`).join(""));
  await writeFile(path.join(staging, "filter"), filter);
  for (const { source } of layers.copied) {
    await run("cp", ["-R", "-P", "--preserve=mode,links", "--", `${source}/.`, path.join(staging, "work")]);
  }
  for (const file of files) {
    const target = path.join(staging, "work", file.path);
    await mkdir(path.dirname(target), { recursive: true });
    await rm(target, { recursive: true, force: true });
    await writeFile(target, file.content);
  }
  const sources = [staging, ...layers.seen.map(({ source }) => source)];
  const archives = await Promise.all(
    sources.map(async (source, i) => {
      const file = path.join(place, `${i}.tar`);
      await run("tar", ["-c", "-f", file, "-C", source, "."]);
      return { file, bytes: (await stat(file)).size };
    }),
  );
  return { archives, remove: () => rm(place, { recursive: true, force: true }) };
}
