import type { ApprovalRow } from "@airlock/shared/db";
import type { Page } from "../../pagination.ts";
import { builder } from "../builder.ts";

/** Tasks, calls and approvals refer to each other, so their names come before their fields. */
export const ApprovalType = builder.objectRef<ApprovalRow>("Approval");
export const ApprovalConnectionType = builder.objectRef<Page<ApprovalRow>>("ApprovalConnection");
