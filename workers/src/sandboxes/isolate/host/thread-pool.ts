import { availableParallelism } from "node:os";
import type { BootImage } from "../engine/boot-image.ts";
import type { EngineModules } from "../engine/modules.ts";
import { GuestThread, type ThreadEvents } from "./guest-thread.ts";

/** Idle threads kept for the next guest; more are ended after a while. */
const RESERVE = 3;
const IDLE_MS = 30_000;
/** Threads that guests can come to by waiting a little. */
const FREE = Math.max(3, availableParallelism() + 1);
const STARTING = Math.max(2, availableParallelism());

/** Threads made on demand. The last one used is the next one given: its memory is still in the processor's cache. */
export class ThreadPool {
  readonly #modules: EngineModules;
  readonly #image: BootImage;
  readonly #events: ThreadEvents;
  readonly #maxThreads: number;
  readonly #all = new Set<GuestThread>();
  readonly #starting = new Set<GuestThread>();
  readonly #idle: GuestThread[] = [];

  constructor(modules: EngineModules, image: BootImage, maxThreads: number, events: ThreadEvents) {
    this.#modules = modules;
    this.#image = image;
    this.#maxThreads = maxThreads;
    this.#events = events;
    for (let i = 0; i < Math.min(RESERVE, maxThreads); i++) this.#make();
  }

  get threads(): Iterable<GuestThread> {
    return this.#all;
  }

  /** An idle thread, best one that has served the project; null where there is none. */
  take(project: string): GuestThread | null {
    const known = this.#idle.findLastIndex((thread) => thread.knows(project));
    return (known >= 0 ? this.#idle.splice(known, 1)[0] : this.#idle.pop()) ?? null;
  }

  /**
   * Makes a thread, which announces itself, unless enough are not `blocked`: one costs 20 ms of a processor and has to
   * warm up, so few are made, and few at a time.
   */
  growBeyond(blocked: number): void {
    const free = this.#all.size - blocked;
    if (free < FREE && this.#all.size < this.#maxThreads && this.#starting.size < STARTING) this.#make();
  }

  /** Takes a thread that came up or whose guest has ended. */
  give(thread: GuestThread): void {
    this.#starting.delete(thread);
    thread.idleSince = performance.now();
    this.#idle.push(thread);
  }

  /** Forgets a thread that is gone. */
  remove(thread: GuestThread): void {
    this.#all.delete(thread);
    this.#starting.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  trim(now: number): void {
    while (this.#idle.length > RESERVE && now - (this.#idle[0] as GuestThread).idleSince > IDLE_MS) {
      this.#idle.shift()?.kill();
    }
  }

  #make(): void {
    const thread = new GuestThread(this.#modules, this.#image, this.#events);
    this.#all.add(thread);
    this.#starting.add(thread);
  }
}
