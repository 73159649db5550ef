import { ListWorkers, type Worker } from "./generated.ts";
import type { Transport } from "./transport.ts";

export interface Workers {
  list(): Promise<readonly Worker[]>;
}

export function createWorkers({ patiently }: Transport): Workers {
  return { list: async () => (await patiently(ListWorkers, {})).workers };
}
