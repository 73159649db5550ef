import { styleText } from "node:util";
import { escapeHidden, markHidden } from "./hidden-characters.ts";
import { renderTable, type Table } from "./table.ts";

export type Colour = "bold" | "inverse" | "gray" | "red" | "green" | "yellow" | "cyan";

/** The program's own words and other people's, each to the right stream and in the right dress. */
export interface Printer {
  /** Whether a person reads the standard output, or the standard error. */
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** A line of ours. */
  line(text: string): void;
  /** A line of ours beside the result: progress, advice, faults. */
  note(text: string): void;
  json(value: unknown): void;
  /** One of many, each on its own line. */
  jsonLine(value: unknown): void;
  /** Aligned for a person; for a program tab-separated and without a head. */
  table(table: Table): void;
  /** What a guest wrote: as it is for a program, with its hidden characters marked for a person. */
  guest(stream: "stdout" | "stderr", text: string): void;
  /** Text of others in a line of ours. */
  quote(text: string, kept?: string): string;
  style(colour: Colour, text: string): string;
  /** Straight to the person, where a bar redraws itself. */
  draw(text: string): void;
}

export function createPrinter(out: NodeJS.WriteStream, err: NodeJS.WriteStream): Printer {
  const outIsTerminal = out.isTTY;
  const errIsTerminal = err.isTTY;
  // A coloured line may go to either stream, so both must be a person's. styleText itself knows NO_COLOR.
  const style: Printer["style"] = (colour, text) =>
    outIsTerminal && errIsTerminal ? styleText(colour, text, { stream: out }) : text;
  const mark = (text: string): string => style("inverse", text);
  const write = (json: string): void => void out.write(`${escapeHidden(json)}\n`);
  return {
    outIsTerminal,
    errIsTerminal,
    line: (text) => void out.write(`${text}\n`),
    note: (text) => void err.write(`${text}\n`),
    json: (value) => write(JSON.stringify(value ?? null, null, outIsTerminal ? 2 : undefined)),
    jsonLine: (value) => write(JSON.stringify(value)),
    table: (table) => void out.write(renderTable(table, outIsTerminal ? { width: out.columns || 120, style } : null)),
    guest(stream, text) {
      const [to, isTerminal] = stream === "stdout" ? [out, outIsTerminal] : [err, errIsTerminal];
      to.write(isTerminal ? markHidden(text, "\n\t", mark) : text);
    },
    quote: (text, kept = "") => markHidden(text, kept, mark),
    style,
    draw: (text) => void err.write(text),
  };
}
