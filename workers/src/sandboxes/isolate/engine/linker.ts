import { PAGE_BYTES, type EngineExports, type EngineHooks } from "./abi.ts";
import type { EngineModules, ExtensionModule } from "./modules.ts";

/** Where an extension was put, so that every later instance puts it at the same place. */
export interface Placement {
  readonly memoryBase: number;
  readonly tableBase: number;
}

export interface Linked {
  readonly engine: EngineExports;
  readonly placements: readonly Placement[];
}

type Callable = (...args: unknown[]) => unknown;

const WASI_NOSYS = 52;
const WASI_BADF = 8;
const WASI_OK = 0;
const CLOCK_MONOTONIC = 1;

/** A new engine, initialized: what the boot image is made of. */
export function linkFresh(modules: EngineModules, hooks: EngineHooks): Linked {
  const engine = instantiateMain(modules.main, hooks);
  engine._initialize();
  if (engine.qjs_init() !== 0) throw new Error("the engine does not start");
  const placements = modules.extensions.map((extension) => {
    const { memorySize, tableSize } = readDylink(extension.module);
    const memoryBase = engine.malloc(memorySize);
    new Uint8Array(engine.memory.buffer, memoryBase, memorySize).fill(0);
    const tableBase = engine.__indirect_function_table.grow(tableSize);
    const exports = instantiateExtension(extension, engine, { memoryBase, tableBase });
    const init = exports[`qjs_ext_${extension.name.replaceAll("-", "_")}_init`] as Callable;
    if (init(engine.qjs_get_context_ptr(), engine.qjs_get_runtime_ptr()) !== 0) {
      throw new Error(`the extension ${extension.name} does not start`);
    }
    return { memoryBase, tableBase };
  });
  return { engine, placements };
}

/**
 * A bare instance whose function table is that of the boot image. Its memory is not: the image is to be copied over
 * it, which brings what the initializers, skipped here, would have written.
 */
export function linkForImage(
  modules: EngineModules,
  hooks: EngineHooks,
  placements: readonly Placement[],
  memoryBytes: number,
): EngineExports {
  const engine = instantiateMain(modules.main, hooks);
  const missing = memoryBytes - engine.memory.buffer.byteLength;
  if (missing > 0) engine.memory.grow(missing / PAGE_BYTES);
  modules.extensions.forEach((extension, i) => {
    const placement = placements[i] as Placement;
    engine.__indirect_function_table.grow(readDylink(extension.module).tableSize);
    instantiateExtension(extension, engine, placement);
  });
  return engine;
}

function instantiateMain(module: WebAssembly.Module, hooks: EngineHooks): EngineExports {
  let engine: EngineExports;
  const memory = () => new DataView(engine.memory.buffer);
  const instance = new WebAssembly.Instance(module, {
    env: {
      host_call: (name: number, _length: number, _self: number, count: number, args: number) =>
        hooks.call(memory().getUint8(name), count, args),
      host_interrupt: () => (hooks.interrupt(), 0),
      host_promise_rejection: (promise: number, reason: number, handled: number) =>
        hooks.rejection(promise, reason, handled !== 0),
      host_module_normalize: (_base: number, name: number) => copyCString(engine, name),
      host_module_load: (name: number) => hooks.importModule(readCString(engine, name)),
      // The guest lives in UTC.
      host_get_timezone_offset: () => 0,
    },
    wasi_snapshot_preview1: {
      clock_time_get: (clock: number, _precision: bigint, out: number) => {
        memory().setBigUint64(out, hooks.clock(clock === CLOCK_MONOTONIC), true);
        return WASI_OK;
      },
      // Only seeds hash tables at start; a fixed value keeps the boot image the same everywhere.
      random_get: (out: number, length: number) => {
        new Uint8Array(engine.memory.buffer, out, length).fill(0x5a);
        return WASI_OK;
      },
      fd_write: () => WASI_BADF,
      fd_close: () => WASI_NOSYS,
      fd_fdstat_get: () => WASI_BADF,
      fd_seek: () => WASI_NOSYS,
    },
  });
  engine = instance.exports as unknown as EngineExports;
  return engine;
}

/** Links one shared library of the engine: the subset of WebAssembly dynamic linking that its extensions use. */
function instantiateExtension(
  extension: ExtensionModule,
  engine: EngineExports,
  at: Placement,
): Record<string, unknown> {
  const main = engine as unknown as Record<string, unknown>;
  const own: { exports: Record<string, unknown> } = { exports: {} };
  const env: Record<string, unknown> = {
    memory: engine.memory,
    __indirect_function_table: engine.__indirect_function_table,
    __stack_pointer: engine.__stack_pointer,
    __memory_base: new WebAssembly.Global({ value: "i32" }, at.memoryBase),
    __table_base: new WebAssembly.Global({ value: "i32" }, at.tableBase),
  };
  const addresses: Record<string, WebAssembly.Global> = {};
  for (const { module, name, kind } of WebAssembly.Module.imports(extension.module)) {
    if (module === "GOT.mem" || module === "GOT.func") {
      // Addresses of symbols that the shipped extensions never use: errno and the pure virtual handler.
      addresses[name] = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
    } else if (kind === "function" && module === "env") {
      // A C++ weak symbol is imported and exported by the same library: it is resolved to itself when called.
      env[name] = main[name] ?? ((...args: unknown[]) => (own.exports[name] as Callable)(...args));
    }
  }
  const instance = new WebAssembly.Instance(extension.module, { env, "GOT.mem": addresses, "GOT.func": addresses });
  own.exports = instance.exports;
  (own.exports["__wasm_apply_data_relocs"] as Callable | undefined)?.();
  (own.exports["__wasm_call_ctors"] as Callable | undefined)?.();
  return own.exports;
}

/** Reads the first two sizes out of the `dylink.0` section: bytes of static data, entries in the function table. */
function readDylink(module: WebAssembly.Module): { memorySize: number; tableSize: number } {
  const section = WebAssembly.Module.customSections(module, "dylink.0")[0];
  if (section === undefined) throw new Error("not a WebAssembly shared library");
  const bytes = new Uint8Array(section);
  let at = 0;
  const next = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] as number;
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
  };
  if (next() !== 1) throw new Error("the shared library does not begin with its sizes");
  next();
  const memorySize = next();
  next();
  return { memorySize, tableSize: next() };
}

function readCString(engine: EngineExports, pointer: number): string {
  const bytes = new Uint8Array(engine.memory.buffer);
  return new TextDecoder().decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
}

function copyCString(engine: EngineExports, pointer: number): number {
  const length = new Uint8Array(engine.memory.buffer).indexOf(0, pointer) - pointer + 1;
  const copy = engine.wasm_malloc(length);
  if (copy !== 0) new Uint8Array(engine.memory.buffer).copyWithin(copy, pointer, pointer + length);
  return copy;
}
