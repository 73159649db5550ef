import { tellDecided } from "../approvals/decision.ts";
import { jsonOrText } from "../approvals/prompt.ts";
import { defineCommand } from "../command.ts";

export const approvalsAnswer = defineCommand({
  name: "approvals answer",
  summary: "Answers a question, or tells an unknown outcome.",
  positionals: ["<id>", "<answer>"],
  notes: `
The answer is JSON; what is not JSON is a text. Of an unknown outcome it is {"outcome": "happened", "result": …},
{"outcome": "did_not"} or {"outcome": "fail"}.`,
  async run(context, { values, positionals: [id = "", answer = ""] }) {
    const client = await context.client();
    tellDecided(context, await client.approvals.answer(id, jsonOrText(answer)), values.json === true);
    return 0;
  },
});
