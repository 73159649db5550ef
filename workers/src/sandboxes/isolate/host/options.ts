import type { EngineFiles } from "../engine/modules.ts";

/** The channel is a socket pair beside the standard streams, so that a stray print can never look like a frame. */
export const HOST_CHANNEL_FD = 3;

export interface HostOptions {
  readonly files: EngineFiles;
  readonly maxThreads: number;
}

/** Places that an isolate host has no business to see. */
export const PROBED_PATHS = ["/etc/passwd", "/home", "/root", "/var", "/tmp", "/usr/bin/env"] as const;
