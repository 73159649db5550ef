import { ApiError, SUBMISSION_LIMITS } from "@airlock/shared/domain";

/** What keeps a string out of a text column, or null. Postgres takes no NUL, and UTF-8 has no lone surrogates. */
export function unstorable(text: string): string | null {
  if (text.includes("\0")) return "contains a NUL character; remove it";
  if (!text.isWellFormed()) return "contains half of a surrogate pair; send well-formed Unicode";
  return null;
}

/** What is wrong with a short text that names something, or null. */
export function nameFault(text: string): string | null {
  if (text.trim() === "") return "is empty; give it at least one visible character";
  if (text.length > SUBMISSION_LIMITS.nameChars) {
    return `has ${text.length} characters; at most ${SUBMISSION_LIMITS.nameChars} are allowed`;
  }
  return unstorable(text);
}

export function requireName(field: string, text: string): string {
  const fault = nameFault(text);
  if (fault !== null) throw new ApiError("BAD_INPUT", `${field}: ${fault}`);
  return text;
}
