import { type NewEvent, newEvent } from "@airlock/shared/contracts";
import {
  type ClaimedTask,
  type Database,
  inlineContent,
  insertArtifacts,
  type NewArtifact,
  outputTexts,
} from "@airlock/shared/db";
import { filePathFault, OUTPUT_FILE_LIMITS } from "@airlock/shared/domain";
import { type Files, TooManyBytes } from "@airlock/shared/files";
import type { Lease } from "../sandboxes/port.ts";
import type { JournalEntry, Recorder } from "./recorder.ts";

export interface CollectParts {
  readonly files: Files;
  readonly task: Pick<ClaimedTask, "id" | "project_id" | "session">;
  readonly lease: Pick<Lease, "outputs">;
  readonly recorder: Pick<Recorder, "transact">;
  readonly signal: AbortSignal;
  readonly limits?: Pick<typeof OUTPUT_FILE_LIMITS, "files" | "fileBytes" | "totalBytes" | "named">;
}

/**
 * Takes what an ended program left in its work area, and what it printed, as artifacts of its task, in one fenced
 * write. What cannot be taken is named by an event. Throws `Unrecorded` where that write does not hold, and what the
 * sandbox or the store throws.
 */
export async function collectOutputs(parts: CollectParts): Promise<void> {
  const { task, recorder } = parts;
  const found = await takeFiles(parts);
  await recorder.transact(async (tx) => {
    const artifacts = [...found.artifacts, ...(await printed(tx, task, found.artifacts))];
    await insertArtifacts(tx, artifacts);
    const added = artifacts.map(({ name }) => newEvent("artifact.added", { name }));
    return { events: [...added, ...found.left] } satisfies JournalEntry;
  });
}

async function takeFiles({ files, task, lease, signal, limits = OUTPUT_FILE_LIMITS }: CollectParts) {
  const artifacts: NewArtifact[] = [];
  const left = createLeft(limits.named);
  let bytes = 0;
  // The provider keeps to these bounds as well; what is kept is not its to decide.
  const bounds = { ...limits, onLeft: (path: string, reason: string) => left.add(path, reason) };
  for await (const file of lease.outputs(bounds)) {
    signal.throwIfAborted();
    const fault = filePathFault(file.path);
    const room = Math.min(limits.fileBytes, limits.totalBytes - bytes);
    if (fault !== null) left.add(file.path, `its name ${fault}`);
    else if (artifacts.length >= limits.files) left.add(file.path, `there are more than ${limits.files} files`);
    else if (file.size > room) left.add(file.path, tooLarge(file.size, limits));
    else {
      try {
        const content = await files.keep(task.project_id, file.path, file.content(), room);
        bytes += content.size;
        artifacts.push(artifactOf(task, file.path, content));
      } catch (error) {
        if (!(error instanceof TooManyBytes)) throw error;
        left.add(file.path, tooLarge(file.size, limits));
      }
    }
  }
  return { artifacts, left: left.events() };
}

function artifactOf(task: CollectParts["task"], name: string, content: NewArtifact["content"]): NewArtifact {
  return { projectId: task.project_id, taskId: task.id, session: task.session, name, direction: "OUTPUT", content };
}

function tooLarge(size: number, { fileBytes, totalBytes }: { fileBytes: number; totalBytes: number }): string {
  return `it has ${size} bytes; a task keeps at most ${fileBytes} of one file and ${totalBytes} of all`;
}

/** The output in the log, which a re-run has not printed twice. A file of that name which the program made stands. */
async function printed(
  tx: Database,
  task: CollectParts["task"],
  made: readonly NewArtifact[],
): Promise<readonly NewArtifact[]> {
  const texts = await outputTexts(tx, task.id);
  const files = [...texts].map(([stream, text]) => ({ name: `${stream}.txt`, bytes: Buffer.from(text) }));
  return files.flatMap(({ name, bytes }) =>
    made.some((file) => file.name === name) ? [] : [artifactOf(task, name, inlineContent(bytes, "text/plain"))],
  );
}

/** Events for the first few files that are left, and one for all others. */
function createLeft(named: number) {
  const events: NewEvent[] = [];
  let more = 0;
  return {
    add(path: string, reason: string): void {
      if (events.length >= named) more += 1;
      else events.push(newEvent("artifact.left", { name: path.slice(0, 1024), reason }));
    },
    events(): readonly NewEvent[] {
      const rest = newEvent("artifact.left", { name: null, reason: `${more} more files were left` });
      return more === 0 ? events : [...events, rest];
    },
  };
}
