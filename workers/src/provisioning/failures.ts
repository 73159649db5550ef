import { stripVTControlCharacters } from "node:util";
import type { TaskFailure } from "@airlock/shared/domain";

/** What a task needs cannot be had; the message is for whoever submitted it. */
export class ProvisionError extends Error {
  override readonly name = "ProvisionError";
  readonly failure: TaskFailure;
  constructor(code: "PROVISION_FAILED" | "WORKSPACE_FAILED", message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = { code, message };
  }
}

/** Why what was made cannot be given to sandboxes. */
export class UnfitTree extends Error {
  override readonly name = "UnfitTree";
}

const MESSAGE_CHARS = 500;

/** The first lines that say something, as text that a person may be shown. */
export function firstLines(text: string, count = 1): string {
  const lines = text.split("\n").map((line) => line.trim());
  const said = lines.filter((line) => line !== "").slice(0, count);
  return stripVTControlCharacters(said.join(" "))
    .replaceAll(/\p{Cc}/gu, "")
    .slice(0, MESSAGE_CHARS);
}
