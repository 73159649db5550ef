/** Every failure that leaves Airlock has a code, a meaning and an answer to "can a retry help?". */
interface ErrorEntry {
  readonly meaning: string;
  readonly retryable: boolean;
}

/** `extensions.code` of a refused API request. */
export const API_ERRORS = {
  BAD_INPUT: { meaning: "The request is malformed or a value is out of range.", retryable: false },
  UNAUTHENTICATED: { meaning: "No API key, or one that is unknown or revoked.", retryable: false },
  FORBIDDEN: { meaning: "The key lacks the scope that this needs.", retryable: false },
  NOT_FOUND: { meaning: "No such thing in this project.", retryable: false },
  CONFLICT: { meaning: "The state has moved on, or a key was reused for something else.", retryable: false },
  QUOTA_EXCEEDED: { meaning: "The project's quota is used up.", retryable: true },
  TOO_LARGE: { meaning: "The request is over a size limit.", retryable: false },
  UNAVAILABLE: { meaning: "A part that Airlock needs does not answer.", retryable: true },
  INTERNAL: { meaning: "A fault in Airlock; the log has the details.", retryable: true },
} as const satisfies Record<string, ErrorEntry>;

export type ApiErrorCode = keyof typeof API_ERRORS;

/** `Task.error.code`. */
export const TASK_ERRORS = {
  GUEST_ERROR: { meaning: "The program failed.", retryable: false },
  TIMEOUT: { meaning: "The program used up its active time.", retryable: false },
  QUEUE_EXPIRED: { meaning: "No worker started the task within its queueTtlMs.", retryable: true },
  OUT_OF_MEMORY: { meaning: "The program needs more memory than it may have.", retryable: false },
  OUTPUT_LIMIT: { meaning: "The program printed or returned more than it may.", retryable: false },
  TOOL_FAILED: { meaning: "A tool call failed.", retryable: true },
  TOOL_DENIED: { meaning: "Policy denies this tool.", retryable: false },
  TOOL_TIMEOUT: { meaning: "A tool call took too long.", retryable: true },
  UNKNOWN_TOOL: { meaning: "There is no such tool.", retryable: false },
  BAD_TOOL_INPUT: { meaning: "The input does not fit the tool's schema.", retryable: false },
  APPROVAL_DENIED: { meaning: "A person denied the call.", retryable: false },
  APPROVAL_EXPIRED: { meaning: "Nobody decided in time.", retryable: true },
  REPLAY_DIVERGED: { meaning: "A re-run of the program took another way than the first run.", retryable: false },
  CALL_OUTCOME_UNKNOWN: { meaning: "Nobody knows whether a started call took effect.", retryable: false },
  SANDBOX_FAILED: { meaning: "The sandbox broke under the program.", retryable: true },
  ENVIRONMENT_NOT_FOUND: { meaning: "The environment vanished after submission.", retryable: false },
  ENVIRONMENT_INACTIVE: { meaning: "The environment is deactivated.", retryable: false },
  UNSUPPORTED_ENVIRONMENT: { meaning: "The environment cannot run this language.", retryable: false },
  PROBE_FAILED: { meaning: "The environment's probe failed.", retryable: true },
  LEASE_FAILED: { meaning: "No sandbox could be had.", retryable: true },
  WORKSPACE_FAILED: { meaning: "The workspace could not be made.", retryable: true },
  PROVISION_FAILED: { meaning: "Dependencies or the provision command failed.", retryable: false },
  CANCELLED: { meaning: "The task was cancelled.", retryable: false },
  WORKER_LOST: { meaning: "The workers that picked the task up were lost, or its only one was.", retryable: true },
  ISOLATION_UNAVAILABLE: { meaning: "The asked isolation cannot be enforced here.", retryable: true },
} as const satisfies Record<string, ErrorEntry>;

export type TaskErrorCode = keyof typeof TASK_ERRORS;

/** A failure that the caller of the API may see, word for word. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  constructor(code: ApiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
  get retryable(): boolean {
    return API_ERRORS[this.code].retryable;
  }
}

/** How a task failed: a value, not a throw; `retryable` follows from the code. */
export interface TaskFailure {
  readonly code: TaskErrorCode;
  readonly message: string;
  readonly stack?: string | undefined;
}
