import { z } from "zod";

/** Text that comes back from Postgres as it went in: it takes no NUL, and UTF-8 has no halves of surrogate pairs. */
export function storableText(maxChars: number): z.ZodString {
  return z
    .string()
    .min(1)
    .max(maxChars)
    .refine((text) => !text.includes("\0"), "contains a NUL character")
    .refine((text) => text.isWellFormed(), "contains half of a surrogate pair");
}
