import type { SandboxLimits } from "@airlock/shared/domain";
import type { ProbeResult, SandboxProvider } from "../sandboxes/port.ts";

/** A failure may have been the machine's: it is measured again after this. */
const FAILURE_MS = 30_000;
const MAX_KNOWN = 1_000;

interface Known {
  readonly result: Promise<ProbeResult>;
  until: number;
}

/** Measures each configuration once. */
export interface Prover {
  /** Null where the provider has nothing to add to its probe. */
  prove(provider: SandboxProvider, config: unknown, limits: SandboxLimits): Promise<ProbeResult | null>;
}

export function createProver(): Prover {
  const all = new WeakMap<SandboxProvider, Map<string, Known>>();

  async function measure(provider: SandboxProvider, config: unknown, limits: SandboxLimits): Promise<ProbeResult> {
    try {
      return (await provider.prove?.(config, limits)) as ProbeResult;
    } catch (error) {
      return { available: false, reason: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    async prove(provider, config, limits) {
      if (!provider.prove) return null;
      const known = all.get(provider) ?? new Map<string, Known>();
      all.set(provider, known);
      const key = JSON.stringify([config, limits]);
      const found = known.get(key);
      if (found && found.until > Date.now()) return found.result;
      const entry: Known = { result: measure(provider, config, limits), until: Infinity };
      if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value as string);
      known.set(key, entry);
      if (!(await entry.result).available) entry.until = Date.now() + FAILURE_MS;
      return entry.result;
    },
  };
}
