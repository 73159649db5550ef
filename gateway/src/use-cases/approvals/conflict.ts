import type { Decidable } from "@airlock/shared/db";
import { ApiError, SUPERSEDED } from "@airlock/shared/domain";

/** Why an approval cannot be decided any more, or null while it can. */
export function settledFault(row: Decidable): ApiError | null {
  const at = row.decided_at === null ? "" : ` at ${row.decided_at.toISOString()}`;
  switch (row.status) {
    case "PENDING":
      if (row.cancelling) return conflict("the approval's task is being cancelled; nothing of it is decided any more");
      return row.expired ? conflict(`the approval expired at ${row.expires_at.toISOString()}`) : null;
    case "APPROVED":
    case "DENIED":
      return conflict(`the approval is decided already: ${row.status} by ${row.decided_by ?? "nobody"}${at}`);
    case "EXPIRED":
      return conflict(`the approval expired${at}: nobody decided in time`);
    case "CANCELLED":
      if (row.reason === SUPERSEDED) {
        return conflict(`the approval was superseded${at}: a policy or the tool changed, and the call is judged anew`);
      }
      return conflict(`the approval was cancelled${at}${row.reason === null ? "" : `: ${row.reason}`}`);
  }
}

/** For one that was pending when it was read and was not when it was to be decided. */
export function lostFault(row: Decidable | null): ApiError {
  const fault = row === null ? null : settledFault(row);
  return fault ?? conflict("the approval changed while it was decided; look at it again");
}

export function hashFault(row: Decidable, inputHash: string): ApiError | null {
  if (inputHash.toLowerCase() === row.input_hash.toString("hex")) return null;
  return conflict(
    "inputHash: is not the hash of what this approval shows; look at it again and decide on what it shows",
  );
}

function conflict(message: string): ApiError {
  return new ApiError("CONFLICT", message);
}
