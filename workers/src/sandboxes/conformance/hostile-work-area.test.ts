import { describeNeeding } from "@airlock/shared/testing";
import { afterAll, describe } from "vitest";
import { createFolderProvider } from "../../../testing/folder-provider.ts";
import { hostileWorkArea } from "./hostile-work-area.ts";
import { createProcessProvider } from "../process/index.ts";

describe("a work area that is a folder of this machine", () => hostileWorkArea(createFolderProvider()));

describeNeeding(["bwrap", "root"], "a work area of the process provider", () => {
  const provider = createProcessProvider();
  afterAll(() => provider.close());
  hostileWorkArea(provider);
});
