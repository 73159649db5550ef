/** What a person is asked about. */
export const APPROVAL_KINDS = ["TOOL_CALL", "QUESTION", "BUDGET", "EGRESS", "UNKNOWN_OUTCOME"] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

/** PENDING until decided (APPROVED, DENIED), until its time is up (EXPIRED) or until it is moot (CANCELLED). */
export const APPROVAL_STATUSES = ["PENDING", "APPROVED", "DENIED", "EXPIRED", "CANCELLED"] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What a person says about one. */
export const DECISIONS = ["APPROVE", "DENY"] as const;
export type Decision = (typeof DECISIONS)[number];

/** The reason of an approval that a changed policy or schema made moot: its call is judged anew. */
export const SUPERSEDED = "superseded";

/** How long a person has, where neither tool nor policy says. */
export const DEFAULT_APPROVAL_MS = 24 * 3600_000;
