import { POLICY_MODES } from "@airlock/shared/domain";
import { builder } from "../builder.ts";

export const PolicyModeType = builder.enumType("PolicyMode", { values: POLICY_MODES });
