import { type NewEvent, newEvent } from "@airlock/shared/contracts";
import { type ClaimedTask, listInputFiles, pinSessionFiles, type SessionFile } from "@airlock/shared/db";
import { SESSION_LIMITS, type TaskFailure } from "@airlock/shared/domain";
import { StoreError } from "@airlock/shared/files";
import type { Context } from "../context.ts";
import type { InputFile } from "../sandboxes/port.ts";

/** What a program finds in its work area. */
export interface Workspace {
  readonly files: readonly InputFile[];
  /** Tell of what it does not find there although its session has it. */
  readonly events: readonly NewEvent[];
}

export type WorkspaceRead =
  | { readonly kind: "read"; readonly workspace: Workspace }
  | { readonly kind: "failed"; readonly failure: TaskFailure }
  /** Another segment owns the task. */
  | { readonly kind: "fenced" };

/** The task's own files, and what its session has left, as the first segment found it. */
export async function readWorkspace(
  { db, files }: Pick<Context, "db" | "files">,
  task: Pick<ClaimedTask, "id" | "project_id" | "session" | "segments">,
): Promise<WorkspaceRead> {
  const own = await listInputFiles(db, task.id);
  const events: NewEvent[] = [];
  let earlier: SessionFile[] = [];
  if (task.session !== null) {
    const taken = own.map((file) => file.path);
    const pinned = await pinSessionFiles(db, task, (found) => {
      const { chosen, left } = chooseSessionFiles(found, taken);
      if (left > 0) events.push(newEvent("artifact.left", { name: null, reason: leftOfSession(left) }));
      return chosen;
    });
    if (pinned === null) return { kind: "fenced" };
    earlier = pinned;
  }
  const read: InputFile[] = [];
  try {
    for (const { path, sha256, size } of [...earlier, ...own]) {
      read.push({ path, content: await files.bytes({ projectId: task.project_id, sha256, size }) });
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const message = `the task's files cannot be had: ${error.message}`;
    return { kind: "failed", failure: { code: "WORKSPACE_FAILED", message } };
  }
  return { kind: "read", workspace: { files: read, events } };
}

function leftOfSession(count: number): string {
  const { files, bytes } = SESSION_LIMITS;
  return `${count} older files of the session are not in the work area: it gets at most ${files} files and ${bytes} bytes of them`;
}

/**
 * The newest first, as long as there is room. One that stands where the task has a file of its own, or where a newer
 * file needs a folder (or has made one), gives way.
 */
export function chooseSessionFiles(
  found: readonly SessionFile[],
  own: readonly string[],
): { readonly chosen: readonly SessionFile[]; readonly left: number } {
  const files = new Set(own);
  const folders = new Set(own.flatMap(foldersOf));
  const chosen: SessionFile[] = [];
  let bytes = 0;
  let left = 0;
  for (const file of found) {
    const above = foldersOf(file.path);
    if (files.has(file.path) || folders.has(file.path) || above.some((folder) => files.has(folder))) continue;
    if (chosen.length >= SESSION_LIMITS.files || bytes + file.size > SESSION_LIMITS.bytes) {
      left += 1;
      continue;
    }
    bytes += file.size;
    chosen.push(file);
    files.add(file.path);
    for (const folder of above) folders.add(folder);
  }
  return { chosen, left };
}

function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
