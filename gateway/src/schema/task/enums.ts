import { LANGUAGES, TASK_STATUS_MEANING, TASK_STATUSES } from "@airlock/shared/domain";
import { builder } from "../builder.ts";

export const TaskStatusType = builder.enumType("TaskStatus", {
  values: Object.fromEntries(
    TASK_STATUSES.map((status) => [status, { value: status, description: TASK_STATUS_MEANING[status] }]),
  ) as { [S in (typeof TASK_STATUSES)[number]]: { value: S; description: string } },
});

export const LanguageType = builder.enumType("Language", {
  description: "BUN: JavaScript or TypeScript run by Bun, where the environment has it.",
  values: LANGUAGES,
});
