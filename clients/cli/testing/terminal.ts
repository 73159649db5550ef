import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { BINARY } from "./binary.ts";

/** The real program with a pseudo-terminal in front of it, which `script` of util-linux makes. */
export interface Terminal {
  /** All that it has shown so far, colours included. */
  shown(): string;
  /** Waits until the text shows after all that earlier waits have found; answers what came up to it, without colours. */
  until(text: string): Promise<string>;
  type(text: string): void;
  readonly exitCode: Promise<number>;
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function openTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}): Terminal {
  const command = [process.execPath, BINARY, ...args].map(quote).join(" ");
  const child = spawn("script", ["-q", "-e", "-f", "-c", `stty cols 160 rows 50; exec ${command}`, "/dev/null"], {
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", TERM: "xterm", SHELL: "/bin/sh", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  let read = 0;
  let ended = false;
  let changed: () => void = () => undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    changed();
  });
  child.stdin.on("error", () => undefined);
  const exitCode = once(child, "close").then(([code]) => {
    ended = true;
    changed();
    return code as number;
  });
  return {
    shown: () => shown,
    async until(text) {
      for (;;) {
        const plain = stripVTControlCharacters(shown);
        const at = plain.indexOf(text, read);
        if (at !== -1) {
          const part = plain.slice(read, at + text.length);
          read = at + text.length;
          return part;
        }
        if (ended) throw new Error(`it ended without showing ${JSON.stringify(text)}:\n${plain}`);
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
    type: (text) => void child.stdin.write(text),
    exitCode,
  };
}
