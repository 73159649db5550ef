/**
 * The letter box: a few numbers in the guest's own memory that host and glue share without a call. It lies there so
 * that a snapshot of the memory holds the clock and the random state too. No guest code ever sees its buffer.
 */
export const BOX_BYTES = 128;

/** Indices of 64-bit floats. */
export const BOX_FLOATS = {
  /** Milliseconds of guest time since its start; stands still but for reads and fired timers. */
  elapsed: 0,
  /** Milliseconds since 1970 at the guest's start. */
  start: 1,
  /** Milliseconds of real time since the guest's start, time parked included: when to wake for a timer. Never shown. */
  real: 2,
  /** Real time at which the first timer is due, written by the glue; negative where there is none. */
  wake: 3,
  /** Guest time at which the first timer is due; negative where there is none. */
  due: 4,
} as const;

/** Indices of 32-bit words. */
export const BOX_WORDS = {
  /** Four words: state of `Math.random`. */
  random: 16,
  /** Four words: state of `crypto`. */
  crypto: 20,
} as const;
