import { createWriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import type { LogLevel } from "@airlock/shared/runtime";
import { levels } from "pino";

export interface LogSink {
  /** Takes one line of a program's output. */
  write(program: string, line: string): void;
  close(): Promise<void>;
}

const ROTATE_BYTES = 50_000_000;

/** Keeps every line in a file and shows a person those that matter. */
export async function openLogSink(file: string, shown: LogLevel): Promise<LogSink> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > ROTATE_BYTES) await rename(file, `${file}.1`);
  const out = createWriteStream(file, { flags: "a", mode: 0o600 });
  // A full disk must not take Airlock down with it.
  out.on("error", () => undefined);
  const threshold = shown === "silent" ? Number.POSITIVE_INFINITY : (levels.values[shown] ?? 40);
  return {
    write(program, line) {
      out.write(`${line}\n`);
      const text = render(program, line, threshold);
      if (text !== null) process.stderr.write(`${text}\n`);
    },
    close: () => new Promise((resolve) => out.end(() => resolve())),
  };
}

/** Null when the line is below the threshold. What is no log record (a crash, say) is always shown. */
export function render(program: string, line: string, threshold: number): string | null {
  const record = parse(line);
  if (record === null) return line.trim() === "" ? null : `${program}: ${line}`;
  if (record.level < threshold) return null;
  const time = new Date(record.time).toTimeString().slice(0, 8);
  const cause = record.err?.stack ?? record.err?.message;
  const label = (levels.labels[record.level] ?? String(record.level)).toUpperCase();
  return `${time} ${label} ${program}: ${record.msg ?? ""}${cause === undefined ? "" : `\n${cause}`}`;
}

interface LogRecord {
  level: number;
  time: number;
  msg?: string;
  err?: { message?: string; stack?: string };
}

function parse(line: string): LogRecord | null {
  if (!line.startsWith("{")) return null;
  try {
    const value = JSON.parse(line) as LogRecord;
    return typeof value.level === "number" && typeof value.time === "number" ? value : null;
  } catch {
    return null;
  }
}
