export * from "./probes.ts";
export * from "./read.ts";
export * from "./write.ts";
