import { type Lease, type LeaseState, ListLeases, ReleaseLease } from "./generated.ts";
import type { Transport } from "./transport.ts";

export interface Leases {
  /** The newest first; only of providers whose sandboxes can outlive their worker. */
  list(options?: { state?: readonly LeaseState[]; first?: number }): Promise<readonly Lease[]>;
  /** Gives a RETAINED sandbox up: it is destroyed soon. */
  release(id: string): Promise<Lease>;
}

export function createLeases({ patiently }: Transport): Leases {
  return {
    list: async ({ state, first } = {}) => (await patiently(ListLeases, { state, first })).leases,
    release: async (id) => (await patiently(ReleaseLease, { id })).releaseLease,
  };
}
