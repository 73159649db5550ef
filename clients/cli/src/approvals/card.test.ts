import type { Approval } from "@airlock/client";
import { expect, test } from "vitest";
import { createPrinter } from "../terminal/printer.ts";
import { renderCard } from "./card.ts";

test("shows what a call may have run with, where that is not what it asked for", () => {
  const toolCall = { index: 0, path: "bank.pay", input: { amount: 10_000 } };
  const task = { id: "t", environment: "isolate", labels: {} };
  const about = { id: "a", kind: "UNKNOWN_OUTCOME", inputHash: "00", requestedAt: "", expiresAt: "" };
  const card = (editedInput: unknown): string =>
    renderCard(createPrinter(process.stdout, process.stderr), { ...about, task, toolCall, editedInput } as Approval);
  expect(card({ amount: 10 })).toMatch(/"amount": 10000[^]*edited before, to:[^]*"amount": 10\n/);
  expect(card(null)).not.toContain("edited");
});
