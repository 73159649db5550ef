import { v7 } from "uuid";

/** UUIDv7: time-ordered, so an id is also a page cursor and new rows land at the right edge of an index. */
export function newId(): string {
  return v7();
}

/** No id made at this time, or later, is smaller. */
export function smallestIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Anything else cannot be an id of ours: it answers like an unknown one instead of failing in the database. */
export function isId(value: string): boolean {
  return UUID.test(value);
}
