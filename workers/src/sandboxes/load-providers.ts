import { locateModule } from "../locate-module.ts";
import type { ProviderKit, ProviderPlugin } from "./plugin.ts";
import { runOnChannel } from "./channel/run-on-channel.ts";
import { childTransport } from "./channel/child-transport.ts";
import { createFakeProvider } from "./fake/index.ts";
import { agentSource } from "../guests/agent-source.ts";
import { LeaseError, type SandboxProvider } from "./port.ts";

const KIT: ProviderKit = { agentSource, childTransport, createFakeProvider, LeaseError, runOnChannel };
const METHODS = ["probe", "acquire", "leftovers", "destroy", "close"] as const;

/** Providers from outside: the default export of each module, a provider or a function that makes one. */
export async function loadProviders(specifiers: readonly string[], cwd = process.cwd()): Promise<SandboxProvider[]> {
  return Promise.all(specifiers.map((specifier) => load(specifier, cwd)));
}

async function load(specifier: string, cwd: string): Promise<SandboxProvider> {
  try {
    const url = locateModule(specifier, cwd);
    const module = (await import(/* @vite-ignore */ url)) as { default?: SandboxProvider | ProviderPlugin };
    const made = typeof module.default === "function" ? await module.default(KIT) : module.default;
    if (!isProvider(made)) throw new Error("its default export is no provider, and makes none");
    return made;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the provider module ${JSON.stringify(specifier)} cannot be used: ${reason}`, { cause: error });
  }
}

function isProvider(value: unknown): value is SandboxProvider {
  if (typeof value !== "object" || value === null) return false;
  const provider = value as Record<string, unknown>;
  return typeof provider["name"] === "string" && METHODS.every((name) => typeof provider[name] === "function");
}
