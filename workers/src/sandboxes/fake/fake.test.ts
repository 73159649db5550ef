import { describeConformance } from "../conformance.ts";
import { createFakeProvider } from "./index.ts";

describeConformance("fake", () => createFakeProvider());
