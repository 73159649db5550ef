import type { Store } from "@airlock/shared/files";
import type { Tool } from "../tool.ts";
import * as artifacts from "./artifacts.ts";
import { createHttpTool } from "./http/index.ts";
import { ask } from "./human.ts";
import * as kv from "./kv.ts";
import { echo, sleepTool } from "./util.ts";

/** The tools of every worker. */
export function createBuiltInTools(options: {
  readonly httpAllow: readonly string[];
  readonly store: Pick<Store, "read">;
}): Tool[] {
  return [
    echo,
    sleepTool,
    ask,
    kv.get,
    kv.put,
    kv.increment,
    artifacts.put,
    artifacts.createGet(options.store),
    createHttpTool({ allowPrivate: options.httpAllow }),
  ];
}
