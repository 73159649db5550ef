/** `extensions.code` of a refused request. */
export type ApiErrorCode =
  | "BAD_INPUT"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "CONFLICT"
  | "QUOTA_EXCEEDED"
  | "TOO_LARGE"
  | "UNAVAILABLE"
  | "INTERNAL";

/** Every error of this package: `code` says what happened, `retryable` whether the same again can help. */
export abstract class AirlockError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
}

/** The gateway refused the request. */
export class ApiError extends AirlockError {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  readonly retryable: boolean;
  /** How long the gateway asks to wait before the next try; null where it does not say. */
  readonly retryAfterMs: number | null;
  constructor(code: ApiErrorCode, message: string, retryable: boolean, retryAfterMs: number | null = null) {
    super(message);
    this.code = code;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer, or none that is Airlock's: UNREACHABLE may pass, BAD_ANSWER (a wrong address, say) will not. */
export class ConnectionError extends AirlockError {
  override readonly name = "ConnectionError";
  readonly code: "UNREACHABLE" | "BAD_ANSWER";
  readonly retryAfterMs: number | null;
  constructor(
    code: ConnectionError["code"],
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number | null } = {},
  ) {
    super(message, options);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
  get retryable(): boolean {
    return this.code === "UNREACHABLE";
  }
}

/** The task ended otherwise than SUCCEEDED; `code` is the task's own (`Task.error.code`). */
export class TaskFailedError extends AirlockError {
  override readonly name = "TaskFailedError";
  readonly code: string;
  readonly retryable: boolean;
  readonly taskId: string;
  constructor(taskId: string, error: { readonly code: string; readonly message: string; readonly retryable: boolean }) {
    super(error.message);
    this.taskId = taskId;
    this.code = error.code;
    this.retryable = error.retryable;
  }
}
