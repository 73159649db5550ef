import "./scalars/index.ts";
import "./task/index.ts";
import "./batch/index.ts";
import "./event/index.ts";
import "./tool-call/index.ts";
import "./approval/index.ts";
import "./tool/index.ts";
import "./policy/index.ts";
import "./function/index.ts";
import "./worker/index.ts";
import "./environment/index.ts";
import "./provider/index.ts";
import "./lease/index.ts";
import "./project/index.ts";
import "./api-key/index.ts";
import { builder } from "./builder.ts";

export const schema = builder.toSchema();
