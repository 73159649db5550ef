import { GraphQLError, Kind } from "graphql";
import { builder } from "../builder.ts";

const ISO = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

builder.scalarType("DateTime", {
  description: "An instant as ISO 8601 with an offset, like `2026-01-31T12:00:00.000Z`. Answers are in UTC.",
  parseValue: parseDateTime,
  parseLiteral: (node) => parseDateTime(node.kind === Kind.STRING ? node.value : undefined),
  serialize: (value) => value.toISOString(),
});

function parseDateTime(value: unknown): Date {
  const match = typeof value === "string" ? ISO.exec(value) : null;
  const date = match ? new Date(match[0]) : null;
  if (match && date && !Number.isNaN(date.getTime()) && isOnCalendar(match)) return date;
  throw new GraphQLError("a DateTime is an ISO 8601 string with an offset, like 2026-01-31T12:00:00.000Z");
}

/** `new Date` takes February 30th for March 2nd. */
function isOnCalendar([, year, month, day]: RegExpExecArray): boolean {
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}
