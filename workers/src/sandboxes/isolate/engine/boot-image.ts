import { createHash } from "node:crypto";
import { GLUE_ENTRIES, HOST_FUNCTIONS, glueSource, type GlueEntry } from "../../../guests/isolate/glue.ts";
import { COMPILE_STRIP_SOURCE, GUEST_STACK_BYTES, type EngineExports, type EngineHooks } from "./abi.ts";
import { linkFresh, type Placement } from "./linker.ts";
import type { EngineModules } from "./modules.ts";
import { SNAPSHOT_FORMAT } from "./snapshot.ts";

/** The memory of an engine that has run the glue and nothing else: where every guest begins. */
export interface BootImage {
  /** Shared by all threads, written by none. */
  readonly bytes: SharedArrayBuffer;
  /** SHA-256 of everything that a restored guest depends on. */
  readonly hash: string;
  readonly stackPointer: number;
  readonly placements: readonly Placement[];
  readonly pointers: ImagePointers;
}

/** Addresses in the image. What they point at was allocated before the image was taken, so they always hold. */
export interface ImagePointers {
  readonly context: number;
  /** The letter box shared by host and glue, see `guests/javascript/box.ts`. */
  readonly box: number;
  /** 64 bytes for arguments and results of engine calls. */
  readonly scratch: number;
  readonly undefined: number;
  readonly fileNames: { readonly js: number; readonly ts: number };
  readonly entries: Readonly<Record<GlueEntry, number>>;
}

/** Nothing in here may come from this machine or this moment: the same build gives the same bytes everywhere. */
const BOOT_HOOKS: EngineHooks = {
  call: () => refuse("a host function"),
  interrupt: () => {},
  rejection: () => refuse("a rejection"),
  importModule: () => refuse("a module"),
  clock: (monotonic) => (monotonic ? 0n : 1_000_000_000n),
};

function refuse(what: string): never {
  throw new Error(`the boot image met ${what}`);
}

export function makeBootImage(modules: EngineModules): BootImage {
  const { engine, placements } = linkFresh(modules, BOOT_HOOKS);
  engine.qjs_set_max_stack_size(GUEST_STACK_BYTES);
  engine.qjs_set_interrupt_handler(1);
  engine.qjs_set_promise_rejection_handler(1);
  engine.qjs_set_module_loader(1);
  const pointers = runGlue(engine);
  engine.qjs_run_gc();
  const bytes = new SharedArrayBuffer(engine.memory.buffer.byteLength);
  new Uint8Array(bytes).set(new Uint8Array(engine.memory.buffer));
  const stackPointer = engine.__stack_pointer.value;
  const hash = createHash("sha256")
    .update(new Uint8Array(bytes).slice())
    .update(JSON.stringify({ stackPointer, placements, pointers, binaries: modules.hash, format: SNAPSHOT_FORMAT }))
    .digest("hex");
  return { bytes, hash, stackPointer, placements, pointers };
}

function runGlue(engine: EngineExports): ImagePointers {
  const scratch = engine.wasm_malloc(64);
  const compiled = compile(engine, glueSource(), scratch);
  const make = engine.qjs_eval_bytecode(compiled.pointer, compiled.length);
  engine.wasm_free(compiled.pointer);
  const emit = engine.qjs_new_host_function(cString(engine, HOST_FUNCTIONS.emit), 1, 2);
  const call = engine.qjs_new_host_function(cString(engine, HOST_FUNCTIONS.call), 1, 3);
  const undefinedBox = engine.qjs_get_undefined();
  const args = new DataView(engine.memory.buffer);
  args.setUint32(scratch, emit, true);
  args.setUint32(scratch + 4, call, true);
  const glue = engine.qjs_call(make, undefinedBox, 2, scratch);
  if (engine.qjs_is_exception(glue) !== 0) throw new Error(`the glue fails: ${lastException(engine, scratch)}`);
  const property = (name: string) => engine.qjs_get_prop_string(glue, cString(engine, name));
  return {
    context: engine.qjs_get_context_ptr(),
    box: engine.qjs_get_array_buffer(property("buffer"), scratch),
    scratch,
    undefined: undefinedBox,
    fileNames: { js: cString(engine, "task.js"), ts: cString(engine, "task.ts") },
    entries: Object.fromEntries(GLUE_ENTRIES.map((name) => [name, property(name)])) as Record<GlueEntry, number>,
  };
}

/** Compiled without its source: the image is smaller, and `console.log.toString()` tells nothing. */
function compile(engine: EngineExports, source: string, scratch: number): { pointer: number; length: number } {
  const code = cString(engine, source);
  const length = Buffer.byteLength(source);
  const name = cString(engine, "airlock:glue");
  const pointer = engine.qjs_compile(code, length, name, 0, COMPILE_STRIP_SOURCE, scratch);
  engine.wasm_free(code);
  engine.wasm_free(name);
  if (pointer === 0) throw new Error(`the glue does not compile: ${lastException(engine, scratch)}`);
  return { pointer, length: new DataView(engine.memory.buffer).getUint32(scratch, true) };
}

function cString(engine: EngineExports, text: string): number {
  const bytes = Buffer.from(`${text}\0`);
  const pointer = engine.wasm_malloc(bytes.length);
  new Uint8Array(engine.memory.buffer).set(bytes, pointer);
  return pointer;
}

function lastException(engine: EngineExports, scratch: number): string {
  const text = engine.qjs_get_string_len(engine.qjs_get_exception(), scratch);
  const length = new DataView(engine.memory.buffer).getUint32(scratch, true);
  return Buffer.from(engine.memory.buffer, text, length).toString();
}
