export { provisioningOf } from "./from-env.ts";
export type { Provided, Provisioning } from "./provisioning.ts";
