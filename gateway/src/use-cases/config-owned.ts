import { ApiError } from "@airlock/shared/domain";

/** The API and the file never disagree: what the file sets is changed there. */
export function configOwned(what: string): ApiError {
  return new ApiError("CONFLICT", `${what} is set in airlock.config.ts; change it there`);
}
