import { APIError, StreamError } from "@vercel/sandbox";

/** How a request to the vendor failed. `gone`: there is no such sandbox any more. `passing`: it may go well later. */
export type ApiFault = "gone" | "passing" | "refused";

export function faultOf(error: unknown): ApiFault {
  if (error instanceof StreamError) return "passing";
  // All that is not an answer: a connection that was refused, reset, or timed out.
  if (!(error instanceof APIError)) return "passing";
  const { status } = error.response;
  if (status === 404 || status === 410) return "gone";
  return status === 429 || status >= 500 ? "passing" : "refused";
}

/** For a person. Never the error itself: it carries the whole answer. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 500) : String(error);
}
