import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, beforeAll, vi } from "vitest";
import { startSshServer, type SshServer } from "../../../testing/ssh-server.ts";
import { describeConformance } from "../conformance.ts";
import { describeHostile } from "../hostile.ts";
import type { SandboxProvider } from "../port.ts";
import { createSshProvider } from "./index.ts";

// One of the suite makes fifty sandboxes.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

describeNeeding(["sshd", "root", "bwrap"], "the provider ssh, to a machine on loopback", () => {
  let server: SshServer;
  beforeAll(async () => {
    server = await startSshServer();
  });
  afterAll(() => server.close());

  const makeProvider = () => laterProvider(() => createSshProvider({ machines: { builder: server.machine } }));
  describeConformance("ssh", makeProvider);
  describeHostile("ssh", makeProvider);
});

/** The suite makes its provider before the server is up. */
function laterProvider(make: () => SandboxProvider): SandboxProvider {
  let made: SandboxProvider | null = null;
  const provider = () => (made ??= make());
  const { capabilities, config, name } = createSshProvider({ machines: {} });
  return {
    name,
    capabilities,
    config,
    probe: () => provider().probe(),
    acquire: (request) => provider().acquire({ ...request, config: { machine: "builder" } }),
    leftovers: () => provider().leftovers(),
    destroy: (leaseId) => provider().destroy(leaseId),
    close: () => provider().close(),
  };
}
