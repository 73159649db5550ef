/** A message may quote anything; text columns take no NUL and no lone surrogate. */
export function storable(text: string): string;
export function storable(text: string | null | undefined): string | null;
export function storable(text: string | null | undefined): string | null {
  return text === undefined || text === null ? null : text.replaceAll("\0", "\u2400").toWellFormed();
}
