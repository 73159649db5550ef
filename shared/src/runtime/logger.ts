import { type Logger, pino } from "pino";

export type { Logger };

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One line is one JSON record, so that nothing a guest prints can forge another. */
export function createLogger(options: { program: string; level: LogLevel }): Logger {
  return pino({
    level: options.level,
    base: { program: options.program, pid: process.pid },
    redact: ["authorization", "secret", "*.authorization", "*.secret"],
  });
}
