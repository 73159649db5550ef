import { availableParallelism } from "node:os";
import type { BootImage } from "../engine/boot-image.ts";
import type { EngineModules } from "../engine/modules.ts";
import type { FromHost, GuestEnd, RunMessage, ToGuest, ToHost } from "../messages.ts";
import { ranTooLong } from "../../rules/failures.ts";
import { failedEnd } from "../thread/ends.ts";
import type { FromThread, Resumed, Said } from "../thread/messages.ts";
import { type GuestThread, type RunningGuest } from "./guest-thread.ts";
import { StrippedPrograms } from "./stripped-programs.ts";
import { ThreadPool } from "./thread-pool.ts";

/** How long past its deadline a guest may take to notice it by itself. */
const GRACE_MS = 150;
const WATCH_MS = 25;
/**
 * More threads than processors only slow small guests down (to half the speed, measured): at most that many guests run that
 * are younger than this, and the others wait here for one of them to end or to grow older. None is ever tied to a
 * busy thread.
 */
const YOUNG_MS = 2;
/** However many young guests there are, nobody waits longer for an idle thread. */
const PATIENCE_MS = 20;
/** A thread that was busy for this long counts as taken: another is made in its place. */
const BLOCKED_MS = 20;

const NOTHING: Said = { chunks: [], calls: [] };

interface Waiting {
  readonly request: RunMessage;
  readonly resumed: Resumed | null;
  readonly droppedBefore: number;
  readonly since: number;
  /** What the worker said to the guest before there was a thread for it. */
  readonly early: ToGuest[];
}

/**
 * A guest that waits for a call and had to leave its thread to another. Threads are dear (20 ms to start, and each warms
 * up by itself) and snapshots cheap (0.3 ms): so crowds of waiting guests are kept as snapshots on a few threads.
 */
interface Stashed {
  readonly request: RunMessage;
  readonly turn: number;
  /** Bytes of output that it has dropped so far. */
  readonly dropped: number;
  readonly killAt: number;
  readonly killEnd: GuestEnd;
}

/** Gives each guest an idle thread, watches the clock over it, and passes on what it says. */
export class Dispatcher {
  readonly #pool: ThreadPool;
  readonly #send: (message: FromHost) => void;
  readonly #stripped = new StrippedPrograms();
  readonly #running = new Map<number, GuestThread>();
  readonly #eager = Math.max(2, availableParallelism());
  readonly #stashed = new Map<number, Stashed>();
  #waiting: Waiting[] = [];
  #young = 0;
  #stashing = 0;
  #ticking = false;

  constructor(modules: EngineModules, image: BootImage, maxThreads: number, send: (message: FromHost) => void) {
    this.#send = send;
    this.#pool = new ThreadPool(modules, image, maxThreads, {
      message: (thread, message) => this.#onMessage(thread, message),
      gone: (thread, guest, reason) => this.#onGone(thread, guest, reason),
    });
    setInterval(() => this.#watch(), WATCH_MS).unref();
  }

  take(message: ToHost): void {
    switch (message.type) {
      case "run":
        return this.#enqueue({ request: message, resumed: null, droppedBefore: 0 }, []);
      case "cancel":
        return this.#cancel(message.id);
      case "settle":
      case "tick":
      case "live":
      case "park":
        return this.#pass(message);
    }
  }

  #enqueue(guest: Pick<Waiting, "request" | "resumed" | "droppedBefore">, early: ToGuest[]): void {
    this.#waiting.push({ ...guest, since: performance.now(), early });
    this.#pump();
  }

  /** To a guest that has its thread, or will: what was said before its start is kept for it. */
  #pass(message: ToGuest): void {
    const { id } = message;
    const thread = this.#running.get(id);
    const guest = thread?.guest ?? null;
    if (thread === undefined || guest === null) {
      const stashed = this.#stashed.get(id);
      if (stashed === undefined) this.#waiting.find(({ request }) => request.id === id)?.early.push(message);
      else this.#unstash(stashed, message);
      return;
    }
    if (guest.mail !== null) return void guest.mail.push(message);
    // It is about an older report than the last: the guest would do nothing, and say nothing.
    if ("turn" in message && guest.idleTurn !== null && message.turn !== guest.idleTurn) return;
    guest.idleTurn = null;
    guest.busySince = performance.now();
    if (message.type === "live") {
      guest.live = true;
      guest.killAt = performance.now() + guest.request.limits.timeoutMs + GRACE_MS;
    }
    thread.tell(message);
  }

  /** Threads whose guests have computed for a while, or wait for a timer: nobody can say when they will be free. */
  #blocked(): number {
    const since = performance.now() - BLOCKED_MS;
    let blocked = 0;
    for (const { guest } of this.#running.values()) {
      if (guest !== null && guest.idleTurn === null && guest.busySince < since) blocked++;
    }
    return blocked;
  }

  /** Moves a waiting guest off its thread, for one that has none. */
  #makeRoom(): void {
    if (this.#stashing >= this.#eager) return;
    for (const thread of this.#running.values()) {
      const { guest } = thread;
      if (guest === null || guest.idleTurn === null || guest.mail !== null) continue;
      guest.mail = [];
      this.#stashing++;
      return thread.tell({ type: "park", turn: guest.idleTurn });
    }
  }

  /** What was said to the guest before it was asked to move made it go on: it has refused, and stays. */
  #stay(guest: RunningGuest): void {
    if (guest.mail === null) return;
    const { mail } = guest;
    guest.mail = null;
    this.#stashing--;
    for (const message of mail) this.#pass(message);
  }

  #stash(guest: RunningGuest, state: string, dropped: number): void {
    const { request, live, idleTurn, killAt, killEnd, mail } = guest;
    this.#running.delete(request.id);
    if (killEnd.kind === "cancelled") return this.#end(request.id, killEnd, NOTHING, dropped);
    const kept = { ...request, state, live };
    this.#stashed.set(request.id, { request: kept, turn: idleTurn ?? 0, dropped, killAt, killEnd });
    for (const message of mail ?? []) this.#pass(message);
  }

  #unstash({ request, turn, dropped, killAt }: Stashed, message: ToGuest): void {
    const { id, state } = request;
    if ("turn" in message && message.turn !== turn) return;
    this.#stashed.delete(id);
    if (message.type === "park") return this.#end(id, { kind: "parked", state: state ?? "" }, NOTHING, dropped);
    const resumed = { turn, timeMs: Math.max(1, killAt - GRACE_MS - performance.now()) };
    this.#enqueue({ request, resumed, droppedBefore: dropped }, [message]);
  }

  #cancel(id: number): void {
    const thread = this.#running.get(id);
    const guest = thread?.guest;
    if (thread === undefined || guest === null || guest === undefined) {
      const queued = this.#waiting.find(({ request }) => request.id === id);
      const dropped = queued?.droppedBefore ?? this.#stashed.get(id)?.dropped;
      this.#waiting = this.#waiting.filter((waiting) => waiting !== queued);
      this.#stashed.delete(id);
      if (dropped !== undefined) this.#end(id, { kind: "cancelled" }, NOTHING, dropped);
      return;
    }
    thread.cancel();
    guest.killEnd = { kind: "cancelled" };
    guest.killAt = Math.min(guest.killAt, performance.now() + GRACE_MS);
  }

  #pump(): void {
    while (this.#waiting.length > 0 && (this.#young < this.#eager || this.#isImpatient())) {
      if (this.#startFirst()) continue;
      this.#makeRoom();
      this.#pool.growBeyond(this.#blocked());
      break;
    }
    if (this.#waiting.length === 0 || this.#ticking) return;
    this.#ticking = true;
    setTimeout(() => this.#onTick(), YOUNG_MS);
  }

  #isImpatient(): boolean {
    return performance.now() - (this.#waiting[0] as Waiting).since >= PATIENCE_MS;
  }

  #onTick(): void {
    this.#ticking = false;
    const now = performance.now();
    for (const { guest } of this.#running.values()) {
      if (guest !== null && now - guest.startedAt >= YOUNG_MS) this.#growOld(guest);
    }
    this.#pump();
  }

  #startFirst(): boolean {
    const { request, resumed, droppedBefore, early } = this.#waiting[0] as Waiting;
    const thread = this.#pool.take(request.project);
    if (thread === null) return false;
    this.#waiting.shift();
    const now = performance.now();
    const timeMs = resumed?.timeMs ?? (request.live ? request.limits.timeoutMs : request.replayMs);
    this.#running.set(request.id, thread);
    this.#young++;
    const stripped = request.typescript ? this.#stripped.get(request.code) : null;
    const killEnd = failedEnd(ranTooLong(request.limits));
    const fresh = { young: true, live: request.live, busySince: now, idleTurn: null, mail: null };
    const killAt = now + timeMs + GRACE_MS;
    thread.run({ request, resumed, droppedBefore, startedAt: now, killAt, killEnd, ...fresh }, stripped);
    for (const message of early) this.#pass(message);
    return true;
  }

  #onMessage(thread: GuestThread, message: FromThread): void {
    const { guest } = thread;
    if (message.type === "online") {
      this.#pool.give(thread);
      this.#pump();
      return;
    }
    if (guest === null) return;
    switch (message.type) {
      case "turn": {
        const { id, said, turn, waits, timerMs, timerAt } = message;
        this.#growOld(guest);
        guest.idleTurn = timerMs === null ? turn : null;
        this.#send({ type: "turn", id, ...said, turn, waits, timerMs, timerAt });
        this.#stay(guest);
        this.#pump();
        return;
      }
      case "output":
        this.#send({ type: "output", id: message.id, ...message.said });
        return;
      case "ended":
        if (message.stripped !== undefined) this.#stripped.set(guest.request.code, message.stripped);
        thread.guest = null;
        this.#growOld(guest);
        // A thread that the watchdog has already condemned must not get another guest.
        if (!thread.condemned) this.#pool.give(thread);
        this.#onEnded(guest, message);
        this.#pump();
    }
  }

  #onEnded(guest: RunningGuest, { id, end, said, dropped }: Extract<FromThread, { type: "ended" }>): void {
    const all = guest.droppedBefore + dropped;
    if (guest.mail !== null) this.#stashing--;
    if (guest.mail !== null && end.kind === "parked") this.#stash(guest, end.state, all);
    else this.#end(id, end, said, all);
  }

  /** One guest is lost with its thread, but for what it had printed; a thread that nobody killed broke under its guest. */
  #onGone(thread: GuestThread, guest: RunningGuest | null, reason: string): void {
    this.#pool.remove(thread);
    if (guest === null) return;
    if (guest.mail !== null) this.#stashing--;
    this.#growOld(guest);
    const killed = performance.now() >= guest.killAt;
    const broke: GuestEnd = { kind: "failed", code: "SANDBOX_FAILED", message: `the guest's thread broke: ${reason}` };
    const { unsent } = thread;
    const dropped = guest.droppedBefore + unsent.dropped;
    this.#end(guest.request.id, killed ? guest.killEnd : broke, { chunks: unsent.read(), calls: [] }, dropped);
    this.#pump();
  }

  #end(id: number, end: GuestEnd, said: Said, dropped: number): void {
    this.#running.delete(id);
    this.#send({ type: "end", id, ...said, dropped, end });
  }

  #growOld(guest: RunningGuest): void {
    if (guest.young) this.#young--;
    guest.young = false;
  }

  #watch(): void {
    const now = performance.now();
    for (const thread of this.#pool.threads) {
      const { guest } = thread;
      if (guest === null) continue;
      if (now >= guest.killAt) thread.kill();
    }
    for (const [id, { killAt, killEnd, dropped }] of this.#stashed) {
      if (now < killAt) continue;
      this.#stashed.delete(id);
      this.#end(id, killEnd, NOTHING, dropped);
    }
    this.#pump();
    this.#pool.trim(now);
  }
}
