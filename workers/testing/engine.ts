import { type BootImage, makeBootImage } from "../src/sandboxes/isolate/engine/boot-image.ts";
import { Machine } from "../src/sandboxes/isolate/engine/machine.ts";
import { compileModules, type EngineModules } from "../src/sandboxes/isolate/engine/modules.ts";
import { ResetPlan } from "../src/sandboxes/isolate/engine/reset-plan.ts";
import { findHostFiles } from "../src/sandboxes/isolate/host-files.ts";

export interface TestEngine {
  readonly modules: EngineModules;
  readonly image: BootImage;
  /** A copy of the image that no machine writes to. */
  readonly bytes: Buffer;
  newMachine(): Machine;
}

/** The engine in this process, without threads and hosts around it. */
export function makeTestEngine(): TestEngine {
  const modules = compileModules(findHostFiles().engine);
  const image = makeBootImage(modules);
  const bytes = Buffer.from(new Uint8Array(image.bytes));
  const plan = new ResetPlan(new Uint8Array(bytes));
  return { modules, image, bytes, newMachine: () => new Machine(modules, image, plan) };
}

/** Runs a script in a machine as it is; gives its value as text, or what it threw. */
export function evaluate(machine: Machine, source: string): string | null {
  machine.hooks = {
    call: () => machine.engine.qjs_get_undefined(),
    interrupt: () => {},
    rejection: () => {},
    importModule: () => 0,
    clock: () => 0n,
  };
  const value = machine.evaluate(source, machine.image.pointers.fileNames.js, 1);
  return machine.readString(machine.isException(value) ? machine.engine.qjs_get_exception() : value);
}
