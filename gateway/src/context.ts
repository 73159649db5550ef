import type { Bus } from "@airlock/shared/bus";
import type { Caller, Database } from "@airlock/shared/db";
import type { Files } from "@airlock/shared/files";
import type { Logger } from "@airlock/shared/runtime";
import type { Admission } from "./admission.ts";
import type { Announcer } from "./announcer.ts";
import type { Decisions } from "./decisions.ts";
import type { EnvironmentCache } from "./environment-cache.ts";
import type { Loaders } from "./loaders.ts";
import type { Live } from "./live/index.ts";
import type { GatewayMetrics } from "./metrics.ts";

/** What the gateway is made of; built once, in main.ts. */
export interface App {
  readonly db: Database;
  readonly bus: Bus;
  readonly files: Files;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  /** The way in for tasks: group commit and the first enqueue. */
  readonly admission: Admission;
  /** The way in for single decisions: group commit and the wake-up. */
  readonly decisions: Decisions;
  /** Tells queue, workers and subscribers what a commit has changed. */
  readonly announcer: Announcer;
  /** What subscriptions follow. */
  readonly live: Live;
  /** Which environments a project has, for submissions. */
  readonly environments: EnvironmentCache;
  /** Forgets cached callers by key id and ends their streams: this process need not wait for its own message. */
  readonly forgetKeys: (keyIds: readonly string[]) => void;
}

/** What a request is answered with. */
export interface RequestContext {
  readonly app: App;
  readonly caller: Caller;
  readonly loaders: Loaders;
  /** The `Last-Event-ID` of a client that was cut off; null where it sent none. */
  readonly lastEventId: string | null;
}
