import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readWasmState } from "../../../../testing/wasm-binary.ts";
import { findHostFiles } from "../host-files.ts";

const { engine } = findHostFiles();
const binaries = [{ name: "quickjs", path: engine.main }, ...engine.extensions];

/** Whether any function holds the bytes of `global.set index`: if none does, no function can write that global. */
function isWritten(code: Uint8Array, index: number): boolean {
  const found = Buffer.from(code);
  if (index > 127) throw new Error("an index of more than one byte");
  // The second form is how a linker pads an index to five bytes.
  return [
    [0x24, index],
    [0x24, index | 0x80, 0x80, 0x80, 0x80, 0x00],
  ].some((bytes) => found.includes(Buffer.from(bytes)));
}

/** What `Machine.reset` relies on: there is no state but memory and the stack pointer. */
describe.each(binaries)("the state of $name", ({ name, path }) => {
  const state = readWasmState(readFileSync(path));
  const mutable = state.globals.map((global, index) => ({ ...global, index })).filter((global) => global.mutable);

  it("holds no mutable global that is written, but the stack pointer", () => {
    const written = mutable.filter(({ index }) => isWritten(state.code, index)).map((global) => global.name);
    expect(written).toEqual([name === "quickjs" ? "__stack_pointer" : "env.__stack_pointer"]);
  });

  it("holds no mutable global of its own; those it imports are the stack pointer and constant addresses", () => {
    const own = mutable.filter(({ imported }) => !imported).map((global) => global.name);
    expect(own).toEqual(name === "quickjs" ? ["__stack_pointer"] : []);
    const imported = mutable.filter((global) => global.imported).map((global) => global.name ?? "");
    expect(imported.filter((each) => !/^(env\.__stack_pointer|GOT\.(mem|func)\..+)$/.test(each))).toEqual([]);
  });

  it("is one memory and one table, and no segment that could be dropped", () => {
    expect(state).toMatchObject({ memories: 1, tables: 1, passiveSegments: 0 });
  });
});

it("the reader of binaries sees a mutable global where there is one", () => {
  // (module (import "m" "g" (global (mut i32))) (global (mut i64) (i64.const 1)) (func (global.set 0 (i32.const 1))))
  const binary = Buffer.from(
    "0061736d01000000" +
      "010401600000" +
      "020801016d0167037f01" +
      "03020100" +
      "060601" +
      "7e0142010b" +
      "0a08010600" +
      "410124000b",
    "hex",
  );
  expect(() => new WebAssembly.Module(binary)).not.toThrow();
  const state = readWasmState(binary);
  expect(state.globals).toEqual([
    { name: "m.g", mutable: true, imported: true },
    { name: null, mutable: true, imported: false },
  ]);
  expect([0, 1].map((index) => isWritten(state.code, index))).toEqual([true, false]);
});
