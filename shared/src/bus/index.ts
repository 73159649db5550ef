export { type Bus, createBus } from "./bus.ts";
