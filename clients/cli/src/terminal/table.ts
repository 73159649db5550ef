import { stripVTControlCharacters } from "node:util";
import type { Printer } from "./printer.ts";

export interface Table {
  readonly head: readonly string[];
  /** Cells without line ends; they may be coloured. */
  readonly rows: readonly (readonly string[])[];
  /** Said to a person in place of an empty table. */
  readonly empty: string;
}

interface Person {
  readonly width: number;
  readonly style: Printer["style"];
}

export function renderTable({ head, rows, empty }: Table, person: Person | null): string {
  if (person === null) return rows.map((row) => `${row.join("\t")}\n`).join("");
  if (rows.length === 0) return `${empty}\n`;
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => widthOf(row[i] ?? ""))));
  const line = (row: readonly string[]): string => {
    const cells = row.map((cell, i) =>
      i === row.length - 1 ? cell : cell + " ".repeat((widths[i] ?? 0) - widthOf(cell)),
    );
    return cutTo(person.width, cells.join("  "));
  };
  return [person.style("bold", line(head)), ...rows.map(line)].map((text) => `${text}\n`).join("");
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

/** Only an uncoloured tail is cut, so that no colour stays open: tables end with their free text. */
function cutTo(width: number, text: string): string {
  const excess = widthOf(text) - width;
  const tail = text.slice(-excess - 1);
  if (excess <= 0 || tail !== stripVTControlCharacters(tail)) return text;
  return `${text.slice(0, -excess - 1)}…`;
}
