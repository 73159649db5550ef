import { topics } from "@airlock/shared/contracts";
import { answerProbe, type AskedProbe, type ProbeAnswer, takeProbes } from "@airlock/shared/db";
import type { EnvironmentDefinition, Language } from "@airlock/shared/domain";
import type { Context } from "../context.ts";
import { JUST_OVER, NoSandbox, takeSandbox } from "../leasing/sandbox.ts";
import type { ProvedProvider } from "../providers.ts";
import type { GuestChannel, GuestOutcome, GuestProgram, Lease } from "../sandboxes/port.ts";
import { startTicker } from "../upkeep/ticker.ts";

/** How long a lost message can delay a probe. */
const LOOK_MS = 5_000;
/** Nobody waits longer for the answer. */
const PATIENCE_MS = 60_000;
const PROGRAM_MS = 30_000;

type Parts = Pick<
  Context,
  "db" | "bus" | "log" | "metrics" | "leases" | "rested" | "environments" | "limits" | "workerId"
>;

/** Answers questions about environments: makes a sandbox, runs a program in it, and says what it found. */
export async function startProbes(
  context: Parts,
  proved: readonly ProvedProvider[],
): Promise<{ stop(): Promise<void> }> {
  const { db, bus, log, workerId } = context;
  const byName = new Map(proved.map((one) => [one.provider.name, one]));

  async function tick(): Promise<void> {
    const probes = await takeProbes(db, { workerId, providers: [...byName.keys()], withinMs: PATIENCE_MS });
    await Promise.all(probes.map(answer));
  }

  async function answer(probe: AskedProbe): Promise<void> {
    const one = byName.get(probe.definition.provider) as ProvedProvider;
    await answerProbe(db, probe.id, await examine(context, one, probe));
    await bus.publish(topics.probed, [probe.id]);
  }

  const onFailure = "probes could not be answered; the next look tries again";
  const ticker = startTicker(tick, { periodMs: LOOK_MS, log, onFailure });
  await bus.subscribe(topics.probes, () => ticker.hurry());
  return ticker;
}

async function examine(
  context: Parts,
  { provider, isolation }: ProvedProvider,
  { projectId, definition }: AskedProbe,
): Promise<ProbeAnswer> {
  const unavailable = (reason: string): ProbeAnswer => ({ available: false, reason, isolation: null });
  try {
    const proved = await context.environments.prove(provider, definition);
    if (!proved.ok) return unavailable(proved.reason);
    const { config, limits, pin } = proved.plan;
    const sandbox = await takeSandbox(context, provider, {
      taskId: null,
      fence: null,
      environment: "probe",
      environmentId: null,
      revision: null,
      policy: "EPHEMERAL",
      retainMs: 0,
      session: null,
      request: { projectId, config, pin, limits, files: [], layers: [] },
    });
    try {
      const outcome = await runOnce(context, sandbox.lease, definition);
      if (outcome.kind === "returned") {
        return { available: true, reason: null, isolation: proved.isolation ?? isolation };
      }
      return unavailable(`a program of one line did not run: ${wordsOf(outcome)}`);
    } finally {
      await sandbox.finish(JUST_OVER);
    }
  } catch (error) {
    if (error instanceof NoSandbox) return unavailable(`no sandbox could be had: ${error.message}`);
    throw error;
  }
}

function runOnce(context: Parts, lease: Lease, definition: EnvironmentDefinition): Promise<GuestOutcome> {
  const [language] = definition.languages as [Language];
  const program: GuestProgram = {
    language,
    code: language === "BASH" ? "true" : "return 1",
    input: null,
    seed: "00".repeat(32),
    clockStart: Date.now(),
    kept: null,
    live: true,
    limits: {
      ...context.limits,
      memoryBytes: definition.limits.memoryBytes ?? context.limits.memoryBytes,
      timeoutMs: PROGRAM_MS,
    },
  };
  const ignore = (): void => {};
  const channel: GuestChannel = { output: ignore, dropped: ignore, call: ignore, idle: ignore };
  return lease.start(program, channel, AbortSignal.timeout(PROGRAM_MS + 5_000)).outcome;
}

function wordsOf(outcome: GuestOutcome): string {
  if (outcome.kind === "failed") return `${outcome.failure.code}: ${outcome.failure.message}`;
  return outcome.kind === "lost" ? outcome.reason : outcome.kind;
}
