/**
 * The exports of `quickjs.wasm` that Airlock calls. Values are passed as pointers to boxes (`JSValue*`, 8 bytes); who
 * gets a box owns it. `JS_Eval2` alone takes and gives the value itself, as 64 bits.
 */
export interface EngineExports {
  readonly memory: WebAssembly.Memory;
  readonly __indirect_function_table: WebAssembly.Table;
  readonly __stack_pointer: WebAssembly.Global;
  _initialize(): void;
  malloc(size: number): number;
  wasm_malloc(size: number): number;
  wasm_free(pointer: number): void;
  qjs_init(): number;
  qjs_get_context_ptr(): number;
  qjs_get_runtime_ptr(): number;
  qjs_set_memory_limit(bytes: number): void;
  qjs_set_max_stack_size(bytes: number): void;
  qjs_set_interrupt_handler(on: number): void;
  qjs_set_promise_rejection_handler(on: number): void;
  qjs_set_module_loader(on: number): void;
  qjs_run_gc(): void;
  JS_Eval2(context: number, code: number, length: number, options: number): bigint;
  qjs_compile(code: number, length: number, name: number, evalFlags: number, flags: number, outLength: number): number;
  qjs_eval_bytecode(code: number, length: number): number;
  qjs_new_string(text: number, length: number): number;
  qjs_new_error(): number;
  qjs_new_host_function(name: number, nameLength: number, arity: number): number;
  qjs_get_undefined(): number;
  qjs_get_string_len(value: number, outLength: number): number;
  qjs_free_cstring(text: number): void;
  qjs_get_float64(value: number): number;
  qjs_get_value_ptr(value: number): number;
  qjs_get_prop_string(value: number, name: number): number;
  qjs_set_prop_string(value: number, name: number, property: number): void;
  qjs_get_array_buffer(value: number, outLength: number): number;
  qjs_is_undefined(value: number): number;
  qjs_is_exception(value: number): number;
  qjs_get_exception(): number;
  qjs_throw(value: number): void;
  qjs_free_value(value: number): void;
  qjs_call(callee: number, self: number, count: number, args: number): number;
  qjs_is_job_pending(): number;
  qjs_execute_pending_job(): number;
  qjs_promise_state(value: number): number;
  qjs_promise_result(value: number): number;
  qjs_promise_mark_as_handled(value: number): void;
}

export const EVAL_STRICT = 1 << 3;
export const COMPILE_STRIP_SOURCE = 1 << 4;
export const PROMISE_PENDING = 0;
export const PROMISE_FULFILLED = 1;

/** WebAssembly's memory grows by this. */
export const PAGE_BYTES = 65_536;

/** The binary's own stack is 1 MiB; half of it leaves room for native frames and for throwing the RangeError. */
export const GUEST_STACK_BYTES = 512 * 1024;

/** What the engine may ask of its surroundings. A throw unwinds the whole guest, and no guest code can catch it. */
export interface EngineHooks {
  /** A host function was called; `name` is the first byte of its name. Returns a box. */
  call(name: number, count: number, args: number): number;
  /** Called every few thousand steps of guest code; throws to end the guest. */
  interrupt(): void;
  rejection(promise: number, reason: number, handled: boolean): void;
  importModule(specifier: string): number;
  /** Nanoseconds since 1970, or since the guest's start for the monotonic clock. */
  clock(monotonic: boolean): bigint;
}
