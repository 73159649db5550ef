import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { makeBootImage } from "../engine/boot-image.ts";
import { compileModules } from "../engine/modules.ts";
import { createFrameSender, readFrames } from "../frames.ts";
import type { FromHost, ToHost } from "../messages.ts";
import { Dispatcher } from "./dispatcher.ts";
import { HOST_CHANNEL_FD, PROBED_PATHS, type HostOptions } from "./options.ts";

/** The entry of an isolate-host process: holds no credentials, and speaks with nobody but the worker that made it. */

// A Ctrl-C goes to the whole process group; the worker decides when its guests end, by closing the channel.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.removeAllListeners("warning");

const options = JSON.parse(process.argv[2] ?? "") as HostOptions;
const channel = new Socket({ fd: HOST_CHANNEL_FD, readable: true, writable: true });
// However the worker ends, the kernel closes its side: no host outlives its worker.
channel.on("close", () => process.exit(0));
channel.on("error", () => process.exit(0));

const sender = createFrameSender(channel);
const send = (message: FromHost) => sender.send(message);
const modules = compileModules(options.files);
const image = makeBootImage(modules);
const dispatcher = new Dispatcher(modules, image, options.maxThreads, send);

readFrames(
  channel,
  (message) => dispatcher.take(message as ToHost),
  (error) => {
    throw error;
  },
);
send({
  type: "ready",
  image: image.hash,
  environment: Object.keys(process.env),
  network: reachableNetworks(),
  files: PROBED_PATHS.filter((path) => canSee(path)),
});

function reachableNetworks(): string[] {
  try {
    return Object.keys(networkInterfaces()).filter((name) => name !== "lo");
  } catch {
    return [];
  }
}

function canSee(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    return false;
  }
}
