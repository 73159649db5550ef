/** The part of the WebAssembly API that the bench uses; @types/node leaves it to the DOM's types. */
declare namespace WebAssembly {
  interface Module {}
  function compile(bytes: Uint8Array): Promise<Module>;
}
