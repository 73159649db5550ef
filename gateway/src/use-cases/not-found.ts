import { ApiError } from "@airlock/shared/domain";

/** The same words for what is unknown, malformed or another project's; the id is not repeated. */
export function notFound(
  noun:
    | "task"
    | "batch"
    | "project"
    | "API key"
    | "approval"
    | "policy"
    | "artifact"
    | "environment"
    | "function"
    | "lease",
): ApiError {
  return new ApiError("NOT_FOUND", `there is no such ${noun} in this project; check the id`);
}
