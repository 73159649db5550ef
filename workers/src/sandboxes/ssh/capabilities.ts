import type { ProviderCapabilities } from "../port.ts";

export const CAPABILITIES: ProviderCapabilities = {
  languages: ["JAVASCRIPT", "TYPESCRIPT", "BASH"],
  keptBy: "replay",
  workArea: true,
  outlivesWorker: true,
};
