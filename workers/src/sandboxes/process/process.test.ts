import { describeNeeding } from "@airlock/shared/testing";
import { describeConformance } from "../conformance.ts";
import { createProcessProvider } from "./index.ts";

describeNeeding(["bwrap", "root"], "process", () => {
  describeConformance("process", () => createProcessProvider());
});
