import type { NewTask } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import { type Files, StoreError } from "@airlock/shared/files";
import type { SubmittedFile } from "./read-files.ts";

/** Takes the files of submissions in, before their tasks are written; the same content once, however often it is given. */
export async function keepFiles(
  files: Files,
  projectId: string,
  submissions: readonly { readonly files: readonly SubmittedFile[] }[],
): Promise<NewTask["files"][]> {
  const kept = new Map<string, NewTask["files"][number]>();
  for (const { path, bytes, sha256 } of submissions.flatMap((submission) => submission.files)) {
    const known = kept.get(keyOf(path, sha256));
    if (known !== undefined) continue;
    kept.set(keyOf(path, sha256), { path, ...(await keep(files, projectId, path, bytes)) });
  }
  return submissions.map((submission) =>
    submission.files.map(({ path, sha256 }) => kept.get(keyOf(path, sha256)) as NewTask["files"][number]),
  );
}

/** The content type follows from both. */
function keyOf(path: string, sha256: string): string {
  return `${sha256} ${path}`;
}

async function keep(files: Files, projectId: string, path: string, bytes: Buffer) {
  try {
    return await files.keep(projectId, path, inOne(bytes), bytes.length);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ApiError("UNAVAILABLE", "the artifact store does not take files now; try again", { cause: error });
  }
}

async function* inOne(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
