import type { Batch } from "@airlock/client";
import type { Printer } from "./printer.ts";

const CELLS = 30;

/** One line that redraws itself; nothing where nobody watches. */
export interface ProgressBar {
  show(batch: Batch): void;
  clear(): void;
}

export function createProgressBar(print: Printer): ProgressBar {
  if (!print.errIsTerminal) return { show: () => undefined, clear: () => undefined };
  return {
    show: (batch) => print.draw(`\r\u001B[K${renderProgress(batch)}`),
    clear: () => print.draw("\r\u001B[K"),
  };
}

function renderProgress({ total, counts }: Batch): string {
  const ended = counts.succeeded + counts.failed + counts.cancelled + counts.timedOut;
  const filled = total === 0 ? CELLS : Math.floor((ended / total) * CELLS);
  const bar = "#".repeat(filled).padEnd(CELLS, "·");
  return [`[${bar}] ${ended}/${total}`, ...describeCounts(counts)].join("  ");
}

/** Those that are not zero, and not simply succeeded or waiting. */
export function describeCounts({ running, parked, failed, cancelled, timedOut }: Batch["counts"]): string[] {
  const told = { running, parked, failed, cancelled, "timed out": timedOut };
  return Object.entries(told).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
}
