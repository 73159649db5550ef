import type { ToolCallRow } from "@airlock/shared/db";
import { builder } from "../builder.ts";

export const ToolCallType = builder.objectRef<ToolCallRow>("ToolCall");
