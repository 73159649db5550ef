export { type EmbeddedPostgres, type StartOptions, startEmbeddedPostgres } from "./start.ts";
