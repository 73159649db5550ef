export { type ClientRig, startClientRig, type Tenant } from "./rig.ts";
