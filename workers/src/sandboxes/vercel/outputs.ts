import type { OutputBounds, OutputFile } from "../port.ts";
import type { VercelMachine } from "./machine.ts";
import { persist } from "./retry.ts";
import { COLLECT, FOLDERS } from "./scripts.ts";

interface Found {
  readonly type: string;
  readonly links: number;
  readonly size: number;
  readonly path: string;
}

/** What the program left: a list made inside, then each regular file on it, read from outside. */
export async function* collectOutputs(machine: VercelMachine, bounds: OutputBounds): AsyncGenerator<OutputFile> {
  const { stdout } = await persist(() => machine.runAsRoot(COLLECT, [String(machine.uid)]));
  let files = 0;
  let total = 0;
  for (const { type, links, size, path } of parseList(stdout).toSorted(byPath)) {
    const left = whyLeft({ type, links, size, path }, bounds, files, total);
    if (left !== null) {
      bounds.onLeft(path, left);
      continue;
    }
    files++;
    total += size;
    yield { path, size, content: () => readContent(machine, path, size) };
  }
}

function parseList(text: string): Found[] {
  return text.split("\0").flatMap((entry) => {
    const [, type = "", links, size, path = ""] = /^(\w) (\d+) (\d+) (.*)$/s.exec(entry) ?? [];
    return path === "" ? [] : [{ type, links: Number(links), size: Number(size), path }];
  });
}

/** So that what is left, where there is too much, is the same each time. */
function byPath(a: Found, b: Found): number {
  return a.path < b.path ? -1 : 1;
}

function whyLeft(
  { type, links, size, path }: Found,
  bounds: OutputBounds,
  files: number,
  total: number,
): string | null {
  if (type !== "f") return "it is no regular file";
  if (links > 1) return "it has other names";
  // The log carries text: another name cannot be asked for.
  if (path.includes("\ufffd")) return "its name is no text";
  if (size > bounds.fileBytes) return `it has more than ${bounds.fileBytes} bytes`;
  if (files >= bounds.files) return `there are more than ${bounds.files} files`;
  if (total + size > bounds.totalBytes) return `all files together have more than ${bounds.totalBytes} bytes`;
  return null;
}

/** No byte more than was listed, whatever the machine sends. */
async function* readContent(machine: VercelMachine, path: string, size: number): AsyncGenerator<Buffer> {
  const stream = await persist(() => machine.read(`${FOLDERS.work}/${path}`));
  if (stream === null) throw new Error(`the sandbox does not give "${path}" out`);
  let left = size;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const part = piece.subarray(0, left);
    left -= part.length;
    if (part.length > 0) yield part;
    if (left === 0) return;
  }
  throw new Error(`the sandbox gave out only a part of "${path}"`);
}
