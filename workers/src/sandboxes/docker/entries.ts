/** One thing in the work area, as `find` sees it, which follows nothing. */
export interface Entry {
  /** `f` a regular file, `d` a folder, `u` a file that its owner may not read, `h` one of several names; else as `find` has it. */
  readonly type: string;
  readonly path: string;
  readonly size: number;
  /** Changes whenever the thing does, and no program can set it. */
  readonly version: string;
}

const RECORD = /^(\S) (\d+) (\S+) (\d+) (.+)$/s;

/** Reads records ended by NUL; what is not UTF-8 has a path of its own making, with U+FFFD in it. */
export function parseEntry(record: Buffer): Entry | null {
  const [, type = "", size = "", changed = "", inode = "", path = ""] = RECORD.exec(record.toString()) ?? [];
  if (type === "") return null;
  return { type, path, size: Number(size), version: `${size} ${changed} ${inode}` };
}

/** `find`'s part of a command, from the folder that is looked into. */
export const FIND_ENTRIES = "find . -mindepth 1 -printf '%y %s %C@ %i %P\\0'";
