import { LeaseError, type OutputBounds, type OutputFile } from "../port.ts";
import type { Console } from "./console.ts";
import { type Entry, parseEntry } from "./entries.ts";

/** Longer lists of files are no program's honest work: 16,384 files have 2 KiB each. */
const LIST_BYTES = 32 * 1024 * 1024;
/** Linux opens paths of 4,095 bytes; ours begin with `./`. */
const LONGEST_PATH = 4093;
const PATIENCE_MS = 60_000;

const REASONS: Readonly<Record<string, string>> = {
  l: "it is a link",
  p: "it is a FIFO",
  s: "it is a socket",
  u: "it cannot be read",
  h: "it has other names",
};

/**
 * The files that a program made or changed. Inside the container its keeper lists and prints them, after the last of
 * the guest's processes has ended: this machine never touches a path of the guest's.
 */
export async function* collect(
  console: Console,
  before: ReadonlyMap<string, string>,
  bounds: OutputBounds,
): AsyncGenerator<OutputFile> {
  // What the agent has not read of its channel may end in the middle of a line.
  console.write("\nlist\n");
  const files = choose(await readList(console), before, bounds);
  if (files.length === 0) return;
  const paths = Buffer.from(files.map(({ path }) => `./${path}\0`).join(""));
  console.write(`get ${paths.length}\n`);
  console.write(paths);
  for (const { path, size } of files) {
    const content = readBytes(console, size);
    yield { path, size, content: () => content };
    for await (const _ of content);
  }
}

function choose(entries: readonly Entry[], before: ReadonlyMap<string, string>, bounds: OutputBounds): Entry[] {
  let total = 0;
  const chosen: Entry[] = [];
  for (const entry of entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (entry.type === "d" || before.get(entry.path) === entry.version) continue;
    const reason = refuse(entry, chosen.length, total, bounds);
    if (reason !== null) {
      bounds.onLeft(entry.path, reason);
      continue;
    }
    total += entry.size;
    chosen.push(entry);
  }
  return chosen;
}

function refuse({ type, path, size }: Entry, files: number, total: number, bounds: OutputBounds): string | null {
  if (type !== "f") return REASONS[type] ?? "it is no regular file";
  if (path.includes("\uFFFD")) return "its name is not UTF-8";
  if (Buffer.byteLength(path) > LONGEST_PATH) return "its path is too long to be opened";
  if (size > bounds.fileBytes) return `it has more than ${bounds.fileBytes} bytes`;
  if (files >= bounds.files) return `there are more than ${bounds.files} files`;
  if (total + size > bounds.totalBytes) return `all files together have more than ${bounds.totalBytes} bytes`;
  return null;
}

async function readList(console: Console): Promise<Entry[]> {
  const entries: Entry[] = [];
  let rest = Buffer.alloc(0);
  for (let bytes = 0; ;) {
    const piece = await readPiece(console);
    bytes += piece.length;
    if (bytes > LIST_BYTES) throw new LeaseError(`the list of its files has more than ${LIST_BYTES} bytes`);
    rest = Buffer.concat([rest, piece]);
    for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
      const record = rest.subarray(0, end);
      rest = rest.subarray(end + 1);
      if (record.length === 0) {
        console.unread(rest);
        return entries;
      }
      const entry = parseEntry(record);
      if (entry !== null) entries.push(entry);
    }
  }
}

async function* readBytes(console: Console, size: number): AsyncGenerator<Buffer> {
  for (let left = size; left > 0;) {
    const piece = await readPiece(console);
    const own = piece.subarray(0, left);
    console.unread(piece.subarray(own.length));
    left -= own.length;
    yield own;
  }
}

async function readPiece(console: Console): Promise<Buffer> {
  const piece = await console.read(PATIENCE_MS);
  if (piece === null) throw new LeaseError("the sandbox does not give its files any more");
  return piece;
}
