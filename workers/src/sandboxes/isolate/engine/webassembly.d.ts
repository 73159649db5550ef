/** The part of WebAssembly's JavaScript API that the linker uses; TypeScript ships it only with the DOM. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    static imports(module: Module): { module: string; name: string; kind: string }[];
    static customSections(module: Module, name: string): ArrayBuffer[];
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, unknown>>);
    readonly exports: Record<string, unknown>;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Table {
    readonly length: number;
    grow(entries: number): number;
  }
  class Global {
    constructor(descriptor: { value: "i32"; mutable?: boolean }, value: number);
    value: number;
  }
}
