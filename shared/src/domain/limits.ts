/** The bounds of a submission. The gateway refuses what is beyond them; the database and the queue rely on them. */
export const SUBMISSION_LIMITS = {
  codeBytes: 1024 * 1024,
  inputBytes: 1024 * 1024,
  batchTasks: 10_000,
  labels: 32,
  labelKeyChars: 128,
  labelValueChars: 1024,
  nameChars: 256,
  priorityMax: 999,
  timeoutMsMax: 24 * 3600_000,
  queueTtlMsMax: 30 * 24 * 3600_000,
  files: 100,
  fileBytes: 8 * 1024 * 1024,
  /** Of one task's files together. */
  filesBytes: 16 * 1024 * 1024,
} as const;

/** What a task gets of its session's earlier outputs in its work area: the newest of each path, newest first. */
export const SESSION_LIMITS = { files: 500, bytes: 32 * 1024 * 1024 } as const;

/** What is taken out of a work area at a task's end; what is beyond is left, and an event says so. */
export const OUTPUT_FILE_LIMITS = {
  files: 500,
  fileBytes: 64 * 1024 * 1024,
  totalBytes: 256 * 1024 * 1024,
  /** Left files that get an event each; the others are counted. */
  named: 20,
} as const;

/** The bounds of what an approver sends; an edited input and an answer are bounded like a task's input. */
export const DECISION_LIMITS = { decisions: 10_000, reasonChars: 4096 } as const;

/** At most this many of a project's jobs (times its weight) are in a provider's queue; the others wait in Postgres. */
export const FEED_WINDOW = 256;

/** What one guest may use. Providers enforce these; each reports what it could prove. */
export interface GuestLimits {
  /** Active run time; time parked does not count. */
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  /** Output kept as events; more is dropped and counted (`task.output_truncated`). */
  readonly keptOutputBytes: number;
  /** Output at which the guest is ended: OUTPUT_LIMIT. */
  readonly outputBytes: number;
  /** JSON bytes of the returned value: beyond, OUTPUT_LIMIT. */
  readonly resultBytes: number;
}

export const DEFAULT_GUEST_LIMITS: GuestLimits = {
  timeoutMs: 30_000,
  memoryBytes: 128 * 1024 * 1024,
  keptOutputBytes: 1024 * 1024,
  outputBytes: 16 * 1024 * 1024,
  resultBytes: 1024 * 1024,
};

/** What one sandbox outside the isolate may use. An environment may ask for other figures; providers prove theirs. */
export interface SandboxLimits {
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly pids: number;
  /** Processors: 0.5 is half of one. */
  readonly cpus: number;
  /** The work area, in bytes and in files. */
  readonly diskBytes: number;
  readonly files: number;
}

export const DEFAULT_SANDBOX_LIMITS: SandboxLimits = {
  memoryBytes: 512 * 1024 * 1024,
  pids: 128,
  cpus: 0.5,
  diskBytes: 256 * 1024 * 1024,
  files: 16_384,
};
