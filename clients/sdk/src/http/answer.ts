import { AirlockError, ApiError, type ApiErrorCode, ConnectionError } from "../errors.ts";

interface Body<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly GraphqlError[];
}

interface GraphqlError {
  readonly message?: unknown;
  readonly extensions?: { readonly code?: unknown; readonly retryable?: unknown };
}

/** The data of a whole answer; one with errors, and one that is not Airlock's, throws. */
export async function readAnswer<Data>(response: Response): Promise<Data> {
  const text = await response.text();
  return dataOf<Data>(parseBody<Data>(text) ?? strange(response), response);
}

/** The same for a payload that came as a frame of a stream. */
export function readPayload<Data>(text: string): Data {
  const body = parseBody<Data>(text);
  if (body === null) throw new ConnectionError("UNREACHABLE", "the gateway's stream holds a frame that is not JSON");
  return dataOf(body, null);
}

function dataOf<Data>(body: Body<Data>, response: Response | null): Data {
  const [error] = body.errors ?? [];
  if (error !== undefined) throw toApiError(error, response);
  if (body.data === null || body.data === undefined) {
    throw new ConnectionError("UNREACHABLE", "the gateway answered with neither data nor errors");
  }
  return body.data;
}

function parseBody<Data>(text: string): Body<Data> | null {
  try {
    const body = JSON.parse(text) as Body<Data> | null;
    return body !== null && typeof body === "object" && ("data" in body || Array.isArray(body.errors)) ? body : null;
  } catch {
    return null;
  }
}

function toApiError({ message, extensions }: GraphqlError, response: Response | null): ApiError {
  const code = typeof extensions?.code === "string" ? (extensions.code as ApiErrorCode) : "INTERNAL";
  return new ApiError(code, String(message), extensions?.retryable === true, retryAfterOf(response));
}

/** Not Airlock's own words: a proxy in front of it, or something else at this address. */
function strange(response: Response): never {
  const { status, url } = response;
  const passing = status === 408 || status === 429 || status >= 500;
  throw new ConnectionError(
    passing ? "UNREACHABLE" : "BAD_ANSWER",
    `${url} answered ${status}, but not as Airlock does${passing ? "" : "; is the address right?"}`,
    { retryAfterMs: retryAfterOf(response) },
  );
}

/** `Retry-After` as seconds or as a date. */
function retryAfterOf(response: Response | null): number | null {
  const text = response?.headers.get("retry-after") ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

export function isPassing(error: unknown): boolean {
  return error instanceof AirlockError && error.retryable;
}
