import { spawn } from "node:child_process";
import type { InputFile, Layer } from "../port.ts";
import type { VercelMachine } from "./machine.ts";
import { persist } from "./retry.ts";
import { FOLDERS } from "./scripts.ts";

/** The SDK holds a whole request in memory, compressed once more. */
const REQUEST_BYTES = 8 * 1024 * 1024;

type Upload = { readonly path: string; readonly content: string | Buffer; readonly mode?: number };

/** Brings what a program needs into its machine, a few megabytes at a time. */
export async function bring(
  machine: VercelMachine,
  agents: readonly Upload[],
  files: readonly InputFile[],
  layers: readonly Layer[],
): Promise<void> {
  const load = new Load(machine);
  for (const agent of agents) await load.add(agent);
  for (const { path, content } of files) await load.add({ path: `${FOLDERS.work}/${path}`, content });
  for (const [number, layer] of layers.entries()) await bringLayer(load, layer, number);
  await load.send();
}

class Load {
  readonly #machine: VercelMachine;
  #uploads: Upload[] = [];
  #bytes = 0;

  constructor(machine: VercelMachine) {
    this.#machine = machine;
  }

  async add(upload: Upload): Promise<void> {
    const size = upload.content.length;
    if (this.#bytes > 0 && this.#bytes + size > REQUEST_BYTES) await this.send();
    this.#uploads.push(upload);
    this.#bytes += size;
  }

  async send(): Promise<void> {
    const uploads = this.#uploads;
    if (uploads.length > 0) await persist(() => this.#machine.write(uploads));
    this.#uploads = [];
    this.#bytes = 0;
  }
}

/** As an archive, in parts: so links and modes come along, which the vendor's way of writing files has not. */
async function bringLayer(load: Load, { source }: Layer, number: number): Promise<void> {
  const tar = spawn("tar", ["-c", "-z", "-f", "-", "-C", source, "."], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    tar.once("close", resolve);
    tar.once("error", reject);
  });
  ended.catch(() => {});
  let part = 0;
  const add = (pieces: Buffer[]) => {
    const name = `${number}-${String(part++).padStart(6, "0")}`;
    return load.add({ path: `${FOLDERS.packed}/${name}`, content: Buffer.concat(pieces) });
  };
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of tar.stdout as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < REQUEST_BYTES / 2) continue;
    await add(pieces);
    pieces = [];
    bytes = 0;
  }
  await add(pieces);
  if ((await ended) !== 0) throw new Error(`the layer ${source} cannot be packed`);
}
