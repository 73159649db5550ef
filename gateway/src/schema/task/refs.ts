import type { BatchRow, TaskRow } from "@airlock/shared/db";
import { builder } from "../builder.ts";
import type { Page } from "../../pagination.ts";

/** Tasks and batches refer to each other, so their names come before their fields. */
export const TaskType = builder.objectRef<TaskRow>("Task");
export const BatchType = builder.objectRef<BatchRow>("Batch");
export const TaskConnectionType = builder.objectRef<Page<TaskRow>>("TaskConnection");
