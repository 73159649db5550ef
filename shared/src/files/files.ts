import { Readable } from "node:stream";
import { type Database, deleteUnused, findInline, type KeptContent, lockUnused, reserveContent } from "../db/index.ts";
import { contentTypeOf } from "../domain/index.ts";
import { receive } from "./receive.ts";
import { type ByteRange, type Store, StoreError } from "./store.ts";

/** Smaller files are rows: they need no store, no second system that may be away, and are in the same transaction. */
export const INLINE_BYTES = 32 * 1024;

/** Which bytes, of which project. */
export interface ContentRef {
  readonly projectId: string;
  readonly sha256: Buffer;
  readonly size: number;
}

/** The bytes of artifacts: small ones in Postgres, others in the store. */
export interface Files {
  /** Takes bytes in for an artifact of this name. Nobody's until `insertArtifacts`, which must follow within the hour. */
  keep(projectId: string, name: string, source: AsyncIterable<Buffer>, maxBytes: number): Promise<KeptContent>;
  open(content: ContentRef, range?: ByteRange): Promise<Readable>;
  /** All of it, and nothing else. */
  bytes(content: ContentRef): Promise<Buffer>;
  /** Deletes bytes that no artifact refers to any more. Looks at so many at most; answers at how many. */
  sweep(limit: number): Promise<number>;
}

export function createFiles(db: Database, store: Store): Files {
  async function open({ projectId, sha256 }: ContentRef, range?: ByteRange): Promise<Readable> {
    const inline = await findInline(db, projectId, sha256);
    if (inline === null) return store.read({ projectId, sha256: sha256.toString("hex") }, range);
    return Readable.from([range === undefined ? inline : inline.subarray(range.start, range.end + 1)]);
  }

  return {
    async keep(projectId, name, source, maxBytes) {
      const named = store.takesFiles;
      const limits = { incoming: () => store.incoming(), named, inlineBytes: INLINE_BYTES, maxBytes };
      const { head, isText, file, ...facts } = await receive(source, limits);
      const kept = { ...facts, contentType: contentTypeOf(name, head, isText) };
      if (file === null) return kept;
      try {
        // The row first: what a crash leaves in the store has a row that says so, and is deleted.
        await reserveContent(db, { projectId, ...facts });
        await store.put(projectId, { path: file.path, size: facts.size, sha256: facts.sha256.toString("hex") });
      } finally {
        await file.release();
      }
      return kept;
    },
    open,
    async bytes(content) {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of await open(content)) {
        size += (chunk as Buffer).length;
        if (size > content.size) break;
        chunks.push(chunk as Buffer);
      }
      if (size !== content.size)
        throw new StoreError(`a file in the store has ${size} bytes instead of ${content.size}`);
      return Buffer.concat(chunks, size);
    },
    sweep: (limit) =>
      db.transaction().execute(async (tx) => {
        const { looked, unused } = await lockUnused(tx, limit);
        for (const { project_id: projectId, sha256, stored } of unused) {
          if (stored) await store.remove({ projectId, sha256: sha256.toString("hex") });
        }
        await deleteUnused(tx, unused);
        return looked;
      }),
  };
}
