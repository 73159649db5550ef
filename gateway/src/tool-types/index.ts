export { renderToolTypes, type ToolSignature } from "./render-tool-types.ts";
