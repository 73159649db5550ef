import { ApiError } from "./errors.ts";
import { type Artifact, ListSessionArtifacts, ListTaskArtifacts } from "./generated.ts";
import type { Download } from "./http/download.ts";
import type { RequestOptions } from "./http/request.ts";
import type { Transport } from "./transport.ts";

export interface Artifacts {
  /** What a task was given (INPUT) and what it has left (OUTPUT), the oldest first. */
  list(taskId: string): Promise<readonly Artifact[]>;
  /** What the tasks of a session have left: the newest file of each name, newest first. */
  ofSession(session: string, options?: { readonly first?: number }): Promise<readonly Artifact[]>;
  /** A file's bytes, as a stream. Names come from guests: do not use one as a path without a look at it. */
  download(id: string, options?: RequestOptions): Promise<Download>;
}

export function createArtifacts({ patiently, download }: Transport): Artifacts {
  return {
    async list(taskId) {
      const { task } = await patiently(ListTaskArtifacts, { id: taskId });
      if (task === null) throw new ApiError("NOT_FOUND", "there is no such task", false);
      return task.artifacts;
    },
    ofSession: async (session, { first } = {}) =>
      (await patiently(ListSessionArtifacts, { session, first })).sessionArtifacts,
    download,
  };
}
