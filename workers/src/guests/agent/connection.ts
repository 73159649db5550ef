import { readFileSync, readdirSync, unlinkSync, watch, writeSync } from "node:fs";
import { Socket } from "node:net";

/** The agent's end of the guest channel. While it is not held, it does not keep the process alive. */
export interface Connection {
  send(message: readonly unknown[]): void;
  listen(heard: (line: string) => void): void;
  hold(held: boolean): void;
}

export type Way =
  | { readonly kind: "descriptor"; readonly fd: number }
  /** Each line is a file, named by its number, written after those with smaller ones. */
  | { readonly kind: "folder"; readonly path: string };

const WAIT_MS = 1;

export function connect(from: Way, to: number): Connection {
  const source = from.kind === "folder" ? watchFolder(from.path) : readDescriptor(from.fd);
  return { ...source, send: (message) => writeAll(to, toLine(message)) };
}

function toLine(message: readonly unknown[]): Buffer {
  const escape = (unit: string) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  return Buffer.from(JSON.stringify(message).replace(/[\u007f-\uffff]/g, escape) + "\n", "latin1");
}

/** At once, so that a program that never looks up again has said what it said. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
    }
  }
}

function readDescriptor(fd: number): Omit<Connection, "send"> {
  const socket = new Socket({ fd, readable: true, writable: false });
  socket.unref();
  // However the worker ends, nobody is left to run for.
  socket.on("end", () => process.kill(process.pid, "SIGKILL"));
  socket.on("error", () => process.kill(process.pid, "SIGKILL"));
  return {
    hold: (held) => void (held ? socket.ref() : socket.unref()),
    listen(heard) {
      let rest = "";
      socket.setEncoding("latin1").on("data", (piece: string) => {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() as string;
        for (const line of lines) heard(line);
      });
    },
  };
}

function watchFolder(path: string): Omit<Connection, "send"> {
  let next = 1;
  let heard: ((line: string) => void) | null = null;
  const look = () => {
    for (const names = new Set(readdirSync(path)); names.has(String(next)); next++) {
      const text = readFileSync(`${path}/${next}`, "latin1");
      if (!text.endsWith("\n")) return;
      unlinkSync(`${path}/${next}`);
      heard?.(text.slice(0, -1));
    }
  };
  const watcher = watch(path, look);
  watcher.unref();
  return {
    hold: (held) => void (held ? watcher.ref() : watcher.unref()),
    listen(listener) {
      heard = listener;
      look();
    },
  };
}
