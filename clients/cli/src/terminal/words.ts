import type { ApprovalStatus, TaskStatus } from "@airlock/client";
import type { Colour, Printer } from "./printer.ts";

const COLOURS: Readonly<Record<TaskStatus | ApprovalStatus, Colour>> = {
  QUEUED: "gray",
  RUNNING: "cyan",
  PARKED: "yellow",
  SUCCEEDED: "green",
  FAILED: "red",
  CANCELLED: "gray",
  TIMED_OUT: "red",
  PENDING: "yellow",
  APPROVED: "green",
  DENIED: "red",
  EXPIRED: "gray",
};

export function statusWord(print: Printer, status: TaskStatus | ApprovalStatus): string {
  return print.style(COLOURS[status], status);
}

/** `2026-01-31 12:00:00` in the reader's zone for a person, ISO 8601 for a program. */
export function timeWord(print: Printer, iso: string | null): string {
  if (iso === null) return "-";
  if (!print.outIsTerminal) return iso;
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

/** One line of JSON, marked and cut to a length that a table can bear. */
export function shortJson(print: Printer, value: unknown, max = 60): string {
  const text = print.quote(JSON.stringify(value ?? null));
  return text.length > max && print.outIsTerminal ? `${text.slice(0, max - 1)}…` : text;
}
