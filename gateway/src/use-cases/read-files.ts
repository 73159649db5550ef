import { createHash } from "node:crypto";
import { filePathFault, SUBMISSION_LIMITS } from "@airlock/shared/domain";
import type { Faults } from "./faults.ts";

export interface FileInput {
  readonly path: string;
  readonly content?: string | null | undefined;
  readonly base64?: string | null | undefined;
}

/** A file of a submission, decoded. */
export interface SubmittedFile {
  readonly path: string;
  readonly bytes: Buffer;
  /** Hex. */
  readonly sha256: string;
}

const NONE: readonly SubmittedFile[] = [];

/** Within all bounds, in the order of their paths. Faults name the file. */
export function readFiles(
  given: readonly FileInput[] | null | undefined,
  field: string,
  faults: Faults,
): readonly SubmittedFile[] {
  if (!given || given.length === 0) return NONE;
  const { files, filesBytes } = SUBMISSION_LIMITS;
  if (given.length > files) {
    faults.add(field, `has ${given.length} files; at most ${files} are allowed`, "TOO_LARGE");
    return NONE;
  }
  const read = given.flatMap((file, index) => readFile(file, `${field}[${index}]`, faults) ?? []);
  const bytes = read.reduce((sum, file) => sum + file.bytes.length, 0);
  if (bytes > filesBytes) {
    faults.add(field, `have ${bytes} bytes together; at most ${filesBytes} are allowed`, "TOO_LARGE");
  }
  const sorted = read.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  refuseClashes(sorted, field, faults);
  return sorted;
}

function readFile({ path, content, base64 }: FileInput, at: string, faults: Faults): SubmittedFile | null {
  const named = `${at} ${JSON.stringify(path.slice(0, 80))}`;
  const fault = filePathFault(path);
  if (fault !== null) {
    faults.add(`${at}.path`, `${JSON.stringify(path.slice(0, 80))} ${fault}; give a path like "data/in.csv"`);
    return null;
  }
  if ((typeof content === "string") === (typeof base64 === "string")) {
    faults.add(named, "needs either content (text) or base64");
    return null;
  }
  if (typeof content === "string" && !content.isWellFormed()) {
    faults.add(named, "contains half of a surrogate pair; send bytes as base64");
    return null;
  }
  const bytes = Buffer.from(content ?? base64 ?? "", typeof content === "string" ? "utf8" : "base64");
  // Node ignores what it cannot decode; only the one right spelling comes back as it was.
  if (typeof base64 === "string" && bytes.toString("base64") !== base64) {
    faults.add(named, "is not base64 with its padding");
    return null;
  }
  const limit = SUBMISSION_LIMITS.fileBytes;
  if (bytes.length > limit) {
    faults.add(named, `has ${bytes.length} bytes; at most ${limit} are allowed`, "TOO_LARGE");
    return null;
  }
  return { path, bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** A path given twice, or one that is a folder of another. */
function refuseClashes(files: readonly SubmittedFile[], field: string, faults: Faults): void {
  const paths = new Set<string>();
  for (const { path } of files) {
    if (paths.has(path)) faults.add(field, `${JSON.stringify(path)} is given more than once`);
    paths.add(path);
  }
  for (const path of paths) {
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      if (!paths.has(path.slice(0, end))) continue;
      faults.add(field, `${JSON.stringify(path.slice(0, end))} is a file and the folder of ${JSON.stringify(path)}`);
      break;
    }
  }
}
