import type { ClaimedTask } from "@airlock/shared/db";
import { z } from "zod";
import type { Context } from "../src/context.ts";
import { runSegment } from "../src/runner/run-segment.ts";
import type {
  CallResult,
  GuestCall,
  GuestChannel,
  GuestIdle,
  GuestOutcome,
  RunningGuest,
  SandboxProvider,
} from "../src/sandboxes/port.ts";

/** A guest that the test plays: it says to the desk what the test says, and remembers what it is told. */
export class PlayedGuest implements RunningGuest {
  readonly channel: GuestChannel;
  readonly #end = Promise.withResolvers<GuestOutcome>();
  readonly outcome = this.#end.promise;
  /** By the guest's number of the call. */
  readonly #results = new Map<number, CallResult>();
  #calls = 0;
  #turn = 0;

  constructor(channel: GuestChannel, signal: AbortSignal) {
    this.channel = channel;
    signal.addEventListener("abort", () => this.end({ kind: "cancelled" }));
  }

  call(path: string, input: unknown): GuestCall {
    const call = { id: (this.#calls += 1), path, input: JSON.stringify(input), at: Date.now() };
    this.channel.call(call);
    return call;
  }

  /** It can do nothing but wait, for its calls or for a timer of its own. */
  idle(timerMs: number | null = null): void {
    this.#turn += 1;
    const timerAt = timerMs === null ? null : Date.now() + timerMs;
    this.channel.idle({ turn: this.#turn, waits: timerMs === null, timerMs, timerAt });
  }

  /** Undefined: it has none yet. */
  resultOf({ id }: GuestCall): CallResult | undefined {
    return this.#results.get(id);
  }

  returns(value: unknown): void {
    this.end({ kind: "returned", output: JSON.stringify(value) });
  }

  end(outcome: GuestOutcome): void {
    this.#end.resolve(outcome);
  }

  // What the desk says.

  settle: RunningGuest["settle"] = ({ id, result }) => void this.#results.set(id, result);

  tick = (): void => undefined;

  goLive = (): void => undefined;

  park = ({ turn }: GuestIdle): void => {
    if (turn === this.#turn) this.end({ kind: "parked", kept: null });
  };
}

/** Runs a claimed task's segment, whose guest the test plays. */
export async function playSegment(
  context: Context,
  task: ClaimedTask,
): Promise<{ guest: PlayedGuest; over: Promise<void> }> {
  const started = Promise.withResolvers<PlayedGuest>();
  const provider: SandboxProvider = {
    name: "played",
    capabilities: { languages: ["TYPESCRIPT"], keptBy: "replay", workArea: false, outlivesWorker: false },
    config: z.strictObject({}),
    probe: () => Promise.reject(new Error("nothing is proved of it")),
    acquire: async () => ({
      start(_program, channel, signal) {
        const guest = new PlayedGuest(channel, signal);
        // The desk is attached to it when this returns.
        setImmediate(() => started.resolve(guest));
        return guest;
      },
      outputs: async function* () {},
      release: async () => {},
    }),
    leftovers: async () => [],
    destroy: async () => {},
    close: async () => {},
  };
  const over = runSegment(context, provider, task);
  return { guest: await started.promise, over };
}
