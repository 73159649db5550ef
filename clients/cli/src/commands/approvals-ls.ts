import type { Approval, ApprovalStatus } from "@airlock/client";
import { defineCommand, UsageError } from "../command.ts";
import { readNumber } from "../json-argument.ts";
import { take } from "../take.ts";
import type { Printer } from "../terminal/printer.ts";
import { shortJson, statusWord, timeWord } from "../terminal/words.ts";

const STATUSES: readonly ApprovalStatus[] = ["PENDING", "APPROVED", "DENIED", "EXPIRED", "CANCELLED"];

export const approvalsLs = defineCommand({
  name: "approvals ls",
  summary: "Lists what waits for a person, the newest first.",
  options: {
    status: {
      type: "string",
      short: "s",
      value: "status",
      help: "pending (default), approved, denied, expired, cancelled, all",
    },
    limit: { type: "string", short: "n", value: "n", help: "at most so many (100)" },
  },
  async run(context, { values }) {
    const { print } = context;
    const status = readStatus(values.status ?? "pending");
    const list = (await context.client()).approvals.list(status);
    const approvals = await take(list, readNumber("--limit", values.limit) ?? 100);
    if (values.json === true) print.json(approvals);
    else
      print.table({ head: HEAD, rows: approvals.map((one) => rowOf(print, one)), empty: "nothing waits for a person" });
    return 0;
  },
});

const HEAD = ["ID", "STATUS", "KIND", "ASKED", "TOOL", "INPUT"];

function rowOf(print: Printer, { id, status, kind, requestedAt, toolCall }: Approval): string[] {
  const input = toolCall === null ? "" : shortJson(print, toolCall.input);
  return [id, statusWord(print, status), kind, timeWord(print, requestedAt), print.quote(toolCall?.path ?? "-"), input];
}

function readStatus(text: string): ApprovalStatus | undefined {
  if (text.toLowerCase() === "all") return undefined;
  const status = STATUSES.find((one) => one === text.toUpperCase());
  if (status === undefined) throw new UsageError(`--status is all or one of ${STATUSES.join(", ").toLowerCase()}`);
  return status;
}
