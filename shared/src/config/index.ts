export * from "./definition.ts";
export * from "./load.ts";
