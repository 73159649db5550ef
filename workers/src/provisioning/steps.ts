import { ProvisionError } from "./failures.ts";
import type { StepWalls } from "./step-walls.ts";
import { runStep, type Step, type StepBounds, type StepEnd } from "./step.ts";

/** How steps are run here. */
export interface Steps {
  /** A step that ends by itself; one that does not, or takes too much, is a failure of `what`. */
  run(
    step: Step,
    code: "PROVISION_FAILED" | "WORKSPACE_FAILED",
    what: string,
    signal: AbortSignal,
  ): Promise<Extract<StepEnd, { kind: "exited" }>>;
  /** Null: this machine has no bubblewrap. */
  readonly bubblewrap: Promise<string | null>;
  /** Takes the worker's secrets out of what a program has said. */
  redact(text: string): string;
}

export function createSteps(bounds: StepBounds, walls: Promise<StepWalls>, redact: (text: string) => string): Steps {
  return {
    bubblewrap: walls.then(({ bubblewrap }) => bubblewrap),
    redact,
    async run(step, code, what, signal) {
      const end = await runStep(step, bounds, await walls, signal);
      switch (end.kind) {
        case "exited":
          return end;
        case "timed out":
          throw new ProvisionError(code, `${what}: it took longer than ${bounds.timeoutMs} ms`);
        case "too large":
          throw new ProvisionError(code, `${what}: it wrote more than ${bounds.bytes} bytes`);
        case "too many":
          throw new ProvisionError(code, `${what}: it made more than ${bounds.entries} files`);
        case "out of memory":
          throw new ProvisionError(code, `${what}: it needs more than ${bounds.memoryBytes} bytes of memory`);
      }
    },
  };
}
