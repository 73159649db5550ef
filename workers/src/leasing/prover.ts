import type { SandboxLimits } from "@airlock/shared/domain";
import { LeaseError, type ProbeResult, type SandboxProvider } from "../sandboxes/port.ts";

/** A failure may have been the machine's: it is measured again after this. */
const FAILURE_MS = 30_000;
const MAX_KNOWN = 1_000;

interface Known {
  readonly result: Promise<ProbeResult>;
  until: number;
}

/** Measures each configuration once, for each thing that it stands for. */
export interface Prover {
  /** Null where the provider has nothing to add to its probe. */
  prove(
    provider: SandboxProvider,
    config: unknown,
    limits: SandboxLimits,
    pin: string | null,
  ): Promise<ProbeResult | null>;
}

export function createProver(): Prover {
  const all = new WeakMap<SandboxProvider, Map<string, Known>>();

  async function measure(ask: () => Promise<ProbeResult>): Promise<ProbeResult> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof LeaseError) throw error;
      return { available: false, reason: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    async prove(provider, config, limits, pin) {
      const ask = provider.prove?.bind(provider, config, limits, pin);
      if (!ask) return null;
      const known = all.get(provider) ?? new Map<string, Known>();
      all.set(provider, known);
      const key = JSON.stringify([config, limits, pin]);
      const found = known.get(key);
      if (found && found.until > Date.now()) return found.result;
      const entry: Known = { result: measure(ask), until: Infinity };
      if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value as string);
      known.set(key, entry);
      try {
        const result = await entry.result;
        if (!result.available) entry.until = Date.now() + FAILURE_MS;
        return result;
      } catch (error) {
        known.delete(key);
        throw error;
      }
    },
  };
}
