/** What a WebAssembly binary says about the state that it keeps outside of its memory. */
export interface WasmState {
  /** Globals in index order: imported ones first, as the binary format counts them. */
  readonly globals: readonly WasmGlobal[];
  readonly memories: number;
  readonly tables: number;
  readonly passiveSegments: number;
  /** The bytes of all functions. */
  readonly code: Uint8Array;
}

export interface WasmGlobal {
  /** `module.name` of an import or the exported name; null for one that nobody outside can reach. */
  readonly name: string | null;
  readonly mutable: boolean;
  readonly imported: boolean;
}

const SECTION = { import: 2, table: 4, memory: 5, global: 6, export: 7, element: 9, code: 10, data: 11 } as const;
const KIND = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
const END = 0x0b;

export function readWasmState(binary: Uint8Array): WasmState {
  const sections = readSections(binary);
  const reader = (id: number) => new Reader(sections.get(id) ?? Uint8Array.of(0));
  const imports = readImports(reader(SECTION.import));
  const names = readExportedGlobals(reader(SECTION.export));
  const own = readGlobals(reader(SECTION.global)).map((mutable, i) => ({
    name: names.get(imports.globals.length + i) ?? null,
    mutable,
    imported: false,
  }));
  return {
    globals: [...imports.globals, ...own],
    memories: imports.memories + reader(SECTION.memory).u32(),
    tables: imports.tables + reader(SECTION.table).u32(),
    passiveSegments: countPassive(reader(SECTION.data)),
    code: sections.get(SECTION.code) ?? new Uint8Array(),
  };
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }
  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }
  byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new Error("the binary ends too early");
    return byte;
  }
  u32(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }
  take(length: number): Uint8Array {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
  text(): string {
    return new TextDecoder().decode(this.take(this.u32()));
  }
  limits(): void {
    const flags = this.byte();
    this.u32();
    if ((flags & 1) !== 0) this.u32();
  }
  /** A constant expression; those of globals and segments are an opcode, its operand and `end`. */
  constant(): void {
    for (let opcode = this.byte(); opcode !== END; opcode = this.byte()) {
      if (opcode === 0x41 || opcode === 0x42 || opcode === 0x23) this.u32();
      else if (opcode === 0x44) this.take(8);
      else if (opcode !== 0x6a) throw new Error(`a constant expression with the opcode ${opcode}`);
    }
  }
}

function readSections(binary: Uint8Array): Map<number, Uint8Array> {
  const reader = new Reader(binary);
  if (new TextDecoder().decode(reader.take(8)) !== "\0asm\u0001\0\0\0") throw new Error("not WebAssembly 1");
  const sections = new Map<number, Uint8Array>();
  while (!reader.done) {
    const id = reader.byte();
    const body = reader.take(reader.u32());
    if (id !== 0) sections.set(id, body);
  }
  return sections;
}

function readImports(reader: Reader): { globals: WasmGlobal[]; memories: number; tables: number } {
  const found = { globals: [] as WasmGlobal[], memories: 0, tables: 0 };
  for (let left = reader.u32(); left > 0; left--) {
    const name = `${reader.text()}.${reader.text()}`;
    const kind = reader.byte();
    if (kind === KIND.function) reader.u32();
    else if (kind === KIND.table) {
      reader.byte();
      reader.limits();
      found.tables++;
    } else if (kind === KIND.memory) {
      reader.limits();
      found.memories++;
    } else if (kind === KIND.global) {
      reader.byte();
      found.globals.push({ name, mutable: reader.byte() === 1, imported: true });
    } else throw new Error(`an import of the kind ${kind}`);
  }
  return found;
}

function readGlobals(reader: Reader): boolean[] {
  return Array.from({ length: reader.u32() }, () => {
    reader.byte();
    const mutable = reader.byte() === 1;
    reader.constant();
    return mutable;
  });
}

function readExportedGlobals(reader: Reader): Map<number, string> {
  const names = new Map<number, string>();
  for (let left = reader.u32(); left > 0; left--) {
    const name = reader.text();
    const kind = reader.byte();
    const index = reader.u32();
    if (kind === KIND.global) names.set(index, name);
  }
  return names;
}

function countPassive(reader: Reader): number {
  let passive = 0;
  for (let left = reader.u32(); left > 0; left--) {
    const flags = reader.u32();
    if (flags === 2) reader.u32();
    if (flags === 1) passive++;
    else reader.constant();
    reader.take(reader.u32());
  }
  return passive;
}
