import type { ProviderCapabilities } from "../port.ts";

export const CAPABILITIES: ProviderCapabilities = {
  // Of our image; what another one has is measured.
  languages: ["JAVASCRIPT", "TYPESCRIPT", "PYTHON", "BASH", "BUN"],
  keptBy: "replay",
  workArea: true,
  outlivesWorker: true,
  retains: true,
  reuses: true,
};
