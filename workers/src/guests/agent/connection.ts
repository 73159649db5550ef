import { readFileSync, readdirSync, unlinkSync, watch, writeSync } from "node:fs";
import { Socket } from "node:net";
import { findBun } from "./bun.ts";

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
  const read = findBun() === null ? readDescriptor : readOnThread;
  const source = from.kind === "folder" ? watchFolder(from.path) : read(from.fd);
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
    listen: (heard) => void socket.setEncoding("latin1").on("data", lineReader(heard)),
  };
}

/** Waits in `read`, so that nothing of it keeps the program's thread from ending. */
const READER = `
  const { readSync } = require("node:fs");
  const bytes = Buffer.alloc(65536);
  for (let count = 1; count > 0;) {
    try {
      count = readSync(FD, bytes);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
      continue;
    }
    postMessage(bytes.latin1Slice(0, count));
  }`;

interface BunWorker {
  addEventListener(type: "message" | "error", heard: (message: { readonly data?: string }) => void): void;
  ref(): void;
  unref(): void;
}

/** Bun has no stream of a descriptor beside 0 that can be waited for without being held. */
function readOnThread(fd: number): Omit<Connection, "send"> {
  const { Worker, Blob } = globalThis as unknown as {
    readonly Worker: new (url: string, options: { readonly ref: boolean }) => BunWorker;
    readonly Blob: new (parts: readonly string[]) => Blob;
  };
  const source = READER.replace("FD", String(fd)).replace("WAIT_MS", String(WAIT_MS));
  const worker = new Worker(URL.createObjectURL(new Blob([source])), { ref: false });
  const early: string[] = [];
  let take = (piece: string): void => void early.push(piece);
  worker.addEventListener("message", ({ data }) => (data ? take(data) : process.kill(process.pid, "SIGKILL")));
  worker.addEventListener("error", () => process.kill(process.pid, "SIGKILL"));
  return {
    hold: (held) => (held ? worker.ref() : worker.unref()),
    listen(heard) {
      take = lineReader(heard);
      for (const piece of early.splice(0)) take(piece);
    },
  };
}

function lineReader(heard: (line: string) => void): (piece: string) => void {
  let rest = "";
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() as string;
    for (const line of lines) heard(line);
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
