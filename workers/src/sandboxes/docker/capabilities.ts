import type { ProviderCapabilities } from "../port.ts";

export const CAPABILITIES: ProviderCapabilities = {
  // Not Bash: there is no third stream that would keep its script's stdout apart from its stderr.
  languages: ["JAVASCRIPT", "TYPESCRIPT", "PYTHON"],
  keptBy: "replay",
  workArea: true,
  outlivesWorker: true,
};
