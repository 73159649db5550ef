import { endEvent, type NewEvent, newEvent } from "@airlock/shared/contracts";
import type {
  CallUpdate,
  ClaimedTask,
  Database,
  NewApproval,
  NewCall,
  Parking,
  SegmentWrite,
  SegmentWritten,
  TaskEnd,
} from "@airlock/shared/db";
import type { OutputStream } from "../sandboxes/port.ts";
import type { SegmentStore } from "./segment-store.ts";
import { type OutputRun, toWrite } from "./segment-write.ts";

/** A change to the journal and the events that tell of it. */
export interface JournalEntry {
  readonly events: readonly NewEvent[];
  readonly call?: NewCall;
  readonly update?: CallUpdate;
  readonly approval?: NewApproval;
}

/** Nothing can be recorded any more: the fence is lost, or it is unknown whether a write held. */
export class Unrecorded extends Error {
  override readonly name = "Unrecorded";
}

/** Writes what a segment does, in order and under its fence: output as events, calls in the journal, and the end. */
export interface Recorder {
  output(stream: OutputStream, text: string): void;
  /** Output that the provider counted and did not send. */
  dropped(bytes: number): void;
  /**
   * Resolves when the entry, and all that came before it, is committed. Throws `Unrecorded`. What comes after it is
   * never committed without it, so whoever needs no more than that order need not wait; it then travels with the next
   * write, within so many milliseconds.
   */
  record(entry: JournalEntry, withinMs?: number): Promise<void>;
  /** The same, for an effect that lives in Postgres: `act` and its entry are one transaction. */
  transact(act: (tx: Database) => Promise<JournalEntry>): Promise<void>;
  /** Writes what is left together with the end. False where the fence was lost: somebody else owns the task. */
  end(end: TaskEnd, activeMs: number): Promise<boolean>;
  /** Null where the task may not park: the fence was lost, or the task is to be cancelled. */
  park(parking: Parking, activeMs: number): Promise<SegmentWritten | null>;
}

export interface RecorderOptions {
  readonly task: ClaimedTask;
  readonly store: SegmentStore;
  readonly keptOutput: number;
  /** Called once when nothing can be recorded any more. */
  readonly onBroken: (cause: "fenced" | Error) => void;
}

/** Output waits this long for more, so that a chatty guest makes few events and a reader still sees it live. */
const COALESCE_MS = 20;
const MAX_EVENT_CHARS = 16 * 1024;
/** Beyond so many in one write, what changes streams again and again is told stream by stream. */
const MAX_RUNS = 256;

interface Waiting {
  readonly entry: JournalEntry;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly dueAt: number;
}

type Item = OutputRun | Waiting;

export function createRecorder({ task, store, keptOutput, onBroken }: RecorderOptions): Recorder {
  let pending: Item[] = [];
  /** Characters that a guest prints again: what was recorded after it was kept; of one that was not, all. */
  const toSkip = unkeptOutput(task);
  let room = Math.max(0, keptOutput - task.recorded_output);
  /** Since the guest's start, in all its segments, as `task.dropped_output` is: one that runs again counts from 0. */
  let droppedBytes = task.kept === null ? 0 : task.dropped_output;
  let timer: NodeJS.Timeout | null = null;
  let dueAt = 0;
  let writing: Promise<void> | null = null;
  let broken: Error | null = null;
  /** Transactions take their turns. */
  let turn: Promise<unknown> = Promise.resolve();

  function keep(stream: OutputStream, text: string): void {
    const fits = (run: Item | undefined): run is OutputRun =>
      run !== undefined && "text" in run && run.stream === stream && run.text.length + text.length <= MAX_EVENT_CHARS;
    const [before, last] = [pending.at(-2), pending.at(-1)];
    if (fits(last)) last.text += text;
    else if (pending.length >= MAX_RUNS && last && "text" in last && fits(before)) before.text += text;
    else pending.push({ stream, text });
  }

  function take(): { write: SegmentWrite; waiting: Waiting[] } {
    const items = pending;
    pending = [];
    return { write: toWrite(task, items), waiting: items.filter((item) => "entry" in item) };
  }

  /** One write at a time: what comes meanwhile goes with the next. */
  async function flush(): Promise<void> {
    const { write, waiting } = take();
    try {
      if ((await store.write(write)) === null) throw fail("fenced");
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      const cause = broken ?? fail(error as Error);
      for (const { reject } of waiting) reject(cause);
    }
  }

  function fail(cause: "fenced" | Error): Error {
    broken ??= new Unrecorded(cause === "fenced" ? "another segment holds the fence" : cause.message);
    for (const item of pending) if ("reject" in item) item.reject(broken);
    pending = [];
    onBroken(cause);
    return broken;
  }

  function start(work: () => Promise<void>): void {
    if (timer) clearTimeout(timer);
    timer = null;
    writing = work().finally(() => {
      writing = null;
      if (pending.length === 0 || broken) return;
      let first = performance.now() + COALESCE_MS;
      for (const item of pending) if ("entry" in item) first = Math.min(first, item.dueAt);
      schedule(first - performance.now());
    });
  }

  function schedule(ms: number): void {
    if (writing || broken) return;
    if (ms <= 0) return start(flush);
    const at = performance.now() + ms;
    if (timer && dueAt <= at) return;
    if (timer) clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => start(flush), ms);
  }

  /** Nothing is under way: a write that ends may have started the next. */
  async function idle(): Promise<void> {
    if (writing === null) return;
    await writing;
    return idle();
  }

  const isBusy = (): boolean => writing !== null || pending.length > 0;

  /** Everything recorded so far is committed, and nothing is under way. */
  async function settled(): Promise<void> {
    while (isBusy()) {
      if (broken) throw broken;
      if (!writing) start(flush);
      await writing;
    }
    if (broken) throw broken;
  }

  async function transact(act: (tx: Database) => Promise<JournalEntry>): Promise<void> {
    // Not `await settled()`: nothing may begin a write between the last look and our own start.
    while (isBusy()) await settled();
    if (broken) throw broken;
    let refused: unknown = null;
    const attempt = async (tx: Database): Promise<SegmentWrite> => {
      try {
        return toWrite(task, [{ entry: await act(tx) }]);
      } catch (error) {
        refused = error;
        throw error;
      }
    };
    const done = Promise.withResolvers<void>();
    start(async () => {
      try {
        if ((await store.transact(attempt)) === null) throw fail("fenced");
        done.resolve();
      } catch (error) {
        // What `act` itself threw was rolled back; any other failure may have come after the commit.
        done.reject(error === refused ? error : (broken ?? fail(error as Error)));
      }
    });
    return done.promise;
  }

  /** The last write may have to be tried again: it stays the same one until it holds. */
  let lastWrite: { write: SegmentWrite; waiting: Waiting[] } | null = null;

  async function last(more: Partial<SegmentWrite>, events: readonly NewEvent[]): Promise<SegmentWritten | null> {
    await idle();
    if (timer) clearTimeout(timer);
    timer = null;
    if (broken) return null;
    lastWrite ??= take();
    const { write, waiting } = lastWrite;
    const dropped = Math.max(0, droppedBytes - task.dropped_output);
    const said = dropped > 0 ? [newEvent("task.output_truncated", { bytes: dropped })] : [];
    const all = [...write.events, ...said, ...events];
    const written = await store.write({ ...write, ...more, droppedBytes: dropped, events: all });
    for (const { resolve } of waiting) resolve();
    return written;
  }

  return {
    output(stream, text) {
      const skipped = Math.min(toSkip[stream], text.length);
      toSkip[stream] -= skipped;
      const shown = text.slice(skipped, skipped + room);
      room -= shown.length;
      droppedBytes += Buffer.byteLength(text.slice(skipped + shown.length));
      if (shown.length === 0 || broken) return;
      keep(stream, shown);
      schedule(COALESCE_MS);
    },
    dropped(bytes) {
      droppedBytes += bytes;
    },
    record(entry, withinMs = 0) {
      if (broken) return Promise.reject(broken);
      return new Promise((resolve, reject) => {
        pending.push({ entry, resolve, reject, dueAt: performance.now() + withinMs });
        schedule(withinMs);
      });
    },
    transact(act) {
      const done = turn.then(() => transact(act));
      turn = done.catch(() => undefined);
      return done;
    },
    async end(end, activeMs) {
      // The end ends the calls and approvals that it finds: it must not travel with new ones.
      if (pending.some((item) => "entry" in item && isOpen(item.entry))) await settled().catch(() => undefined);
      const written = await last({ end, activeMs }, [endEvent(end.status, end.failure?.code ?? "")]);
      return written !== null;
    },
    park: (parking, activeMs) =>
      last({ parking, activeMs }, [newEvent("task.parked", { waitingFor: parking.waitingFor })]),
  };
}

/** Of each stream by itself: two that come over two pipes may come in another order in every run. */
function unkeptOutput({ kept, recorded_output, recorded_stderr }: ClaimedTask): Record<OutputStream, number> {
  const stderr = recorded_stderr - (kept?.printedStderr ?? 0);
  return { stdout: recorded_output - (kept?.printed ?? 0) - stderr, stderr };
}

/** The call waits or runs when this is written. */
function isOpen({ call, update }: JournalEntry): boolean {
  return (call ?? update)?.completion === null;
}
