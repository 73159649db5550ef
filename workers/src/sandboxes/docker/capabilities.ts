import type { ProviderCapabilities } from "../port.ts";

export const CAPABILITIES: ProviderCapabilities = {
  languages: ["JAVASCRIPT", "TYPESCRIPT", "PYTHON", "BASH"],
  keptBy: "replay",
  workArea: true,
  outlivesWorker: true,
};
