import type { GlueEntry } from "../../../guests/isolate/glue.ts";
import { EVAL_STRICT, PAGE_BYTES, type EngineExports, type EngineHooks } from "./abi.ts";
import type { BootImage } from "./boot-image.ts";
import { linkForImage } from "./linker.ts";
import type { EngineModules } from "./modules.ts";
import type { ResetPlan } from "./reset-plan.ts";

/** The address of a value's box in the guest's memory. */
export type Box = number;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const JS_EVAL_OPTIONS_VERSION = 1;

/**
 * One WebAssembly instance and the few operations that Airlock needs of it. `reset` makes it new: every byte of
 * memory and the stack pointer. That is all its state: the extensions import other mutable globals, the addresses that
 * a dynamic linker fills in, but no function writes to any global but the stack pointer (a test reads the binaries to
 * prove it).
 */
export class Machine {
  readonly engine: EngineExports;
  readonly image: BootImage;
  /** Who is told what the guest does; set before each run. */
  hooks: EngineHooks = IDLE_HOOKS;
  #bytes: Uint8Array;
  #view: DataView;

  readonly #plan: ResetPlan;
  #isNew = false;

  constructor(modules: EngineModules, image: BootImage, plan: ResetPlan) {
    this.image = image;
    this.#plan = plan;
    const forward: EngineHooks = {
      call: (name, count, args) => this.hooks.call(name, count, args),
      interrupt: () => this.hooks.interrupt(),
      rejection: (promise, reason, handled) => this.hooks.rejection(promise, reason, handled),
      importModule: (specifier) => this.hooks.importModule(specifier),
      clock: (monotonic) => this.hooks.clock(monotonic),
    };
    this.engine = linkForImage(modules, forward, image.placements, image.bytes.byteLength);
    this.#bytes = new Uint8Array(this.engine.memory.buffer);
    this.#view = new DataView(this.engine.memory.buffer);
  }

  /** Memory never shrinks: a machine that grew is not used again. */
  get grown(): boolean {
    return this.engine.memory.buffer.byteLength !== this.image.bytes.byteLength;
  }

  get memoryBytes(): number {
    return this.engine.memory.buffer.byteLength;
  }

  /** Makes it new ahead of its next guest, while nobody waits. */
  resetAhead(): void {
    this.reset();
    this.#isNew = true;
  }

  /** For a guest that begins now. */
  begin(): void {
    if (!this.#isNew) this.reset();
    this.#isNew = false;
  }

  reset(): void {
    if (this.grown) throw new Error("a machine that grew cannot be reset");
    this.#plan.apply(this.bytes);
    this.engine.__stack_pointer.value = this.image.stackPointer;
    this.hooks = IDLE_HOOKS;
  }

  /** To the size that a kept guest had. */
  growTo(bytes: number): void {
    const missing = bytes - this.memoryBytes;
    if (missing > 0) this.engine.memory.grow(missing / PAGE_BYTES);
  }

  get bytes(): Uint8Array {
    // Growth detaches the old buffer.
    if (this.#bytes.byteLength === 0) this.#bytes = new Uint8Array(this.engine.memory.buffer);
    return this.#bytes;
  }

  get view(): DataView {
    if (this.#bytes.byteLength === 0 || this.#view.buffer !== this.#bytes.buffer) {
      this.#view = new DataView(this.bytes.buffer);
    }
    return this.#view;
  }

  readFloat(index: number): number {
    return this.view.getFloat64(this.image.pointers.box + 8 * index, true);
  }

  writeFloat(index: number, value: number): void {
    this.view.setFloat64(this.image.pointers.box + 8 * index, value, true);
  }

  writeWords(index: number, words: Uint8Array): void {
    this.bytes.set(words, this.image.pointers.box + 4 * index);
  }

  /** Evaluates a script; `line` is the number of its first line. Gives its value, or an exception. */
  evaluate(source: string, fileName: number, line: number): Box {
    const { scratch, context } = this.image.pointers;
    const code = this.#writeText(source);
    const result = this.engine.wasm_malloc(8);
    this.view.setInt32(scratch, JS_EVAL_OPTIONS_VERSION, true);
    this.view.setInt32(scratch + 4, EVAL_STRICT, true);
    this.view.setUint32(scratch + 8, fileName, true);
    this.view.setInt32(scratch + 12, line, true);
    const value = this.engine.JS_Eval2(context, code.pointer, code.length, scratch);
    this.engine.wasm_free(code.pointer);
    this.view.setBigInt64(result, value, true);
    return result;
  }

  newString(text: string): Box {
    const { pointer, length } = this.#writeText(text);
    const value = this.engine.qjs_new_string(pointer, length);
    this.engine.wasm_free(pointer);
    return value;
  }

  call(callee: Box, argument: Box): Box {
    const { scratch, undefined: self } = this.image.pointers;
    this.view.setUint32(scratch, argument, true);
    return this.engine.qjs_call(callee, self, 1, scratch);
  }

  callGlue(entry: GlueEntry, argument: Box = this.image.pointers.undefined): Box {
    return this.call(this.image.pointers.entries[entry], argument);
  }

  isException(value: Box): boolean {
    return this.engine.qjs_is_exception(value) !== 0;
  }

  /** Makes an error pending, for a host function or module loader that then returns 0. */
  throwError(message: string): void {
    const error = this.engine.qjs_new_error();
    const text = this.newString(message);
    const { pointer } = this.#writeText("message");
    this.engine.qjs_set_prop_string(error, pointer, text);
    this.engine.wasm_free(pointer);
    this.engine.qjs_throw(error);
    this.engine.qjs_free_value(text);
    this.engine.qjs_free_value(error);
  }

  /**
   * The text of a string value, each lone surrogate as U+FFFD; null where the engine could not give it (an exception is
   * then pending). `onLength` is told the full length in bytes first, and says how many are wanted; it may throw.
   */
  readString(value: Box, onLength?: (bytes: number) => number): string | null {
    const { scratch } = this.image.pointers;
    const text = this.engine.qjs_get_string_len(value, scratch + 32);
    if (text === 0) return null;
    const length = this.view.getUint32(scratch + 32, true);
    const wanted = onLength === undefined ? length : this.#atCharacter(text, length, onLength(length));
    const read = wanted === 0 ? "" : decodeText(this.bytes.subarray(text, text + wanted));
    this.engine.qjs_free_cstring(text);
    return read;
  }

  /** The largest cut not beyond `wanted` that splits no UTF-8 sequence. */
  #atCharacter(text: number, length: number, wanted: number): number {
    if (wanted >= length) return length;
    let cut = wanted;
    while (cut > 0 && ((this.bytes[text + cut] as number) & 0xc0) === 0x80) cut--;
    return cut;
  }

  #writeText(text: string): { pointer: number; length: number } {
    // Short texts: three bytes a character is always enough, and saves measuring.
    const room = text.length < 4096 ? text.length * 3 : Buffer.byteLength(text);
    const pointer = this.engine.wasm_malloc(room + 1);
    if (pointer === 0) throw new RangeError("no memory for text");
    const { written } = encoder.encodeInto(text, this.bytes.subarray(pointer, pointer + room));
    this.bytes[pointer + written] = 0;
    return { pointer, length: written };
  }
}

/** The engine writes a lone surrogate in three bytes, for which the decoder, left to itself, gives three U+FFFD. */
function decodeText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  if (!text.includes("\ufffd")) return text;
  const mended = bytes.slice();
  for (let at = mended.indexOf(0xed); at >= 0; at = mended.indexOf(0xed, at + 1)) {
    if (((mended[at + 1] as number) & 0xe0) === 0xa0) mended.set([0xef, 0xbf, 0xbd], at);
  }
  return decoder.decode(mended);
}

const IDLE_HOOKS: EngineHooks = {
  call: () => idle(),
  interrupt: () => idle(),
  rejection: () => idle(),
  importModule: () => idle(),
  clock: () => idle(),
};

function idle(): never {
  throw new Error("the engine runs without a guest");
}
