import { LANGUAGES_ON_PATH } from "../../guests/agents-on-path.ts";
import type { ProviderCapabilities } from "../port.ts";

export const CAPABILITIES: ProviderCapabilities = {
  languages: LANGUAGES_ON_PATH,
  keptBy: "replay",
  workArea: true,
  outlivesWorker: true,
};
