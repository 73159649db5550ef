import type { Language } from "@airlock/shared/domain";
import type { ProviderCapabilities, RunningGuest } from "./port.ts";

const ignore = () => {};

/** The guest that never was: its language is none of the provider's. */
export function refusedGuest(
  by: string,
  { languages }: Pick<ProviderCapabilities, "languages">,
  language: Language,
): RunningGuest {
  const message = `${by} runs ${languages.join(", ")}, not ${language}`;
  return {
    outcome: Promise.resolve({ kind: "failed", failure: { code: "UNSUPPORTED_ENVIRONMENT", message } }),
    settle: ignore,
    tick: ignore,
    goLive: ignore,
    park: ignore,
  };
}
