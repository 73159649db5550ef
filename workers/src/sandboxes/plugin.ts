import type { agentSource } from "../guests/agent-source.ts";
import type { childTransport } from "./channel/child-transport.ts";
import type { runOnChannel } from "./channel/run-on-channel.ts";
import type { createFakeProvider } from "./fake/index.ts";
import type { LeaseError, SandboxProvider } from "./port.ts";

/** All that an author of a provider needs to name: `@airlock/workers/provider`. */
export type { Transport, TransportEnd, TransportListener } from "./channel/transport.ts";
export type * from "./port.ts";

/** What a provider far from our node_modules is given. */
export interface ProviderKit {
  /** The agent of JavaScript, TypeScript and Bash as one script, for `node <file> --in <fd> --out <fd>`. */
  readonly agentSource: typeof agentSource;
  readonly childTransport: typeof childTransport;
  readonly createFakeProvider: typeof createFakeProvider;
  readonly LeaseError: typeof LeaseError;
  readonly runOnChannel: typeof runOnChannel;
}

export type ProviderPlugin = (kit: ProviderKit) => SandboxProvider | Promise<SandboxProvider>;
