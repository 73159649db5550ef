import { answerSchemaFault } from "@airlock/shared/domain";
import { z } from "zod";
import { defineTool } from "../define-tool.ts";

const MAX_QUESTION_CHARS = 10_000;

export const ask = defineTool({
  path: "human.ask",
  description: "Asks a person and answers with what they say. The task parks until then.",
  input: z.strictObject({
    question: z
      .string()
      .max(MAX_QUESTION_CHARS)
      .refine((text) => text.trim() !== "", "is empty"),
    schema: z
      .record(z.string(), z.unknown())
      .superRefine((schema, context) => {
        // Now, in the guest that wrote it, rather than when a person's answer fits nothing.
        const fault = answerSchemaFault(schema);
        if (fault !== null) context.addIssue({ code: "custom", message: fault });
      })
      .optional()
      .describe("JSON Schema that the answer must fit. Absent: any JSON."),
  }),
  policy: "auto",
  parks: () => ({ kind: "question" }),
});
