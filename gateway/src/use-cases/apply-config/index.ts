export { applyConfig } from "./apply-config.ts";
