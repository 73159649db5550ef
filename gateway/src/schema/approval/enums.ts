import { APPROVAL_KINDS, APPROVAL_STATUSES, DECISIONS, REMEMBER_SCOPES } from "@airlock/shared/domain";
import { builder } from "../builder.ts";

export const ApprovalStatusType = builder.enumType("ApprovalStatus", { values: APPROVAL_STATUSES });
export const ApprovalKindType = builder.enumType("ApprovalKind", { values: APPROVAL_KINDS });
export const DecisionType = builder.enumType("Decision", { values: DECISIONS });
export const RememberScopeType = builder.enumType("RememberScope", { values: REMEMBER_SCOPES });
