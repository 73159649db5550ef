/**
 * The states of a journal row.
 *
 *   WAITING ──▶ STARTED ──▶ SUCCEEDED | FAILED
 *      │           └──────▶ UNKNOWN (its segment was lost: a person is asked) ──▶ STARTED | SUCCEEDED | FAILED
 *      └─────────────────▶ SUCCEEDED (answered, slept) | DENIED | EXPIRED | CANCELLED
 */
export const TOOL_CALL_STATUSES = [
  "WAITING",
  "STARTED",
  "SUCCEEDED",
  "FAILED",
  "DENIED",
  "EXPIRED",
  "CANCELLED",
  "UNKNOWN",
] as const;
export type ToolCallStatus = (typeof TOOL_CALL_STATUSES)[number];

/** Bounds of one tool call. */
export const CALL_LIMITS = {
  /** JSON bytes of a result. */
  outputBytes: 1024 * 1024,
  /** A sleep or timer longer than this parks. */
  patienceMs: 3_000,
} as const;
