import { confirm } from "../approvals/confirm.ts";
import { decide, tellDecided } from "../approvals/decision.ts";
import { findPending } from "../approvals/find.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";

export const approvalsDeny = defineCommand({
  name: "approvals deny",
  summary: "Denies a call after showing the whole of it.",
  positionals: ["<id>"],
  options: {
    yes: { type: "boolean", short: "y", help: "without showing it" },
    hash: { type: "string", value: "sha256", help: "without showing it, if this is what it is about" },
    reason: { type: "string", short: "r", value: "text", help: "kept with the decision, and told to the program" },
  },
  notes: "In the program the call then fails with APPROVAL_DENIED.",
  async run(context, { values, positionals: [id = ""] }) {
    const client = await context.client();
    const approval = await findPending(client, id);
    if (!(await confirm(context, approval, { yes: values.yes === true, hash: values.hash, question: "Deny?" }))) {
      context.print.note("not denied; it still waits");
      return EXIT.failed;
    }
    tellDecided(context, await decide(client, approval, "DENY", { reason: values.reason }), values.json === true);
    return EXIT.ok;
  },
});
