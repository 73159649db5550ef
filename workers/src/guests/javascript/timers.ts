import type { Intrinsics } from "./intrinsics.ts";

interface Timer {
  readonly id: number;
  /** Guest time at which it fires: decides the order. */
  due: number;
  /** Real time before which it does not fire. */
  real: number;
  readonly every: number;
  readonly run: (...args: unknown[]) => unknown;
  readonly args: unknown[];
}

/** Timers ordered by guest time in a binary heap; `floats` is the letter box. */
export function makeTimers(
  I: Intrinsics,
  floats: Float64Array,
  ELAPSED: number,
  REAL: number,
  WAKE: number,
  DUE: number,
) {
  const heap = I.list<Timer>();
  const live = I.dictionary<Timer>();
  let lastId = 0;
  floats[WAKE] = -1;
  floats[DUE] = -1;

  const before = (a: Timer, b: Timer) => a.due < b.due || (a.due === b.due && a.id < b.id);
  const swap = (i: number, j: number) => {
    const held = heap[i] as Timer;
    heap[i] = heap[j] as Timer;
    heap[j] = held;
  };
  const add = (timer: Timer) => {
    let at = heap.length;
    heap[at] = timer;
    for (let up = (at - 1) >> 1; at > 0 && before(timer, heap[up] as Timer); up = (at - 1) >> 1) {
      swap(at, up);
      at = up;
    }
  };
  const removeFirst = () => {
    const last = heap.length - 1;
    swap(0, last);
    heap.length = last;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      if (left >= last) return;
      const right = left + 1;
      const down = right < last && before(heap[right] as Timer, heap[left] as Timer) ? right : left;
      if (!before(heap[down] as Timer, heap[at] as Timer)) return;
      swap(at, down);
      at = down;
    }
  };
  const update = () => {
    while (heap.length > 0 && live[(heap[0] as Timer).id] !== heap[0]) removeFirst();
    floats[WAKE] = heap.length === 0 ? -1 : (heap[0] as Timer).real;
    floats[DUE] = heap.length === 0 ? -1 : (heap[0] as Timer).due;
  };

  const start = (run: unknown, delay: unknown, args: unknown[], repeat: boolean) => {
    if (typeof run !== "function") throw new I.TypeError("a timer needs a function to call");
    const asked = I.Number(delay);
    const wait = asked >= 1 && asked <= 2_147_483_647 ? I.floor(asked) : 1;
    lastId++;
    const timer: Timer = {
      id: lastId,
      due: (floats[ELAPSED] as number) + wait,
      real: (floats[REAL] as number) + wait,
      every: repeat ? wait : 0,
      run: run as Timer["run"],
      args,
    };
    live[timer.id] = timer;
    add(timer);
    update();
    return timer.id;
  };
  const clear = (id: unknown) => {
    if (typeof id !== "number" && typeof id !== "string") return;
    delete live[id];
    update();
  };
  /** Runs the first timer; called by the host when its real time has come. */
  const fire = () => {
    const timer = heap[0];
    if (timer === undefined) return;
    removeFirst();
    floats[ELAPSED] = I.max(floats[ELAPSED] as number, timer.due);
    if (timer.every > 0) {
      timer.due = floats[ELAPSED] + timer.every;
      timer.real = (floats[REAL] as number) + timer.every;
      add(timer);
    } else {
      delete live[timer.id];
    }
    update();
    I.apply(timer.run, undefined, timer.args);
  };
  return {
    fire,
    globals: {
      setTimeout: (run: unknown, delay?: unknown, ...args: unknown[]) => start(run, delay, args, false),
      setInterval: (run: unknown, delay?: unknown, ...args: unknown[]) => start(run, delay, args, true),
      clearTimeout: clear,
      clearInterval: clear,
    },
  };
}
