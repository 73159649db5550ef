import type { RememberScope } from "@airlock/client";
import { confirm } from "../approvals/confirm.ts";
import { decide, tellDecided } from "../approvals/decision.ts";
import { findPending } from "../approvals/find.ts";
import { defineCommand, UsageError } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { readJsonArgument } from "../json-argument.ts";

const SCOPES: readonly RememberScope[] = ["TASK", "SESSION", "PROJECT"];

export const approvalsApprove = defineCommand({
  name: "approvals approve",
  summary: "Approves a call after showing the whole of it.",
  positionals: ["<id>"],
  options: {
    yes: { type: "boolean", short: "y", help: "without showing it" },
    hash: { type: "string", value: "sha256", help: "without showing it, if this is what it is about" },
    reason: { type: "string", short: "r", value: "text", help: "kept with the decision" },
    edit: { type: "string", value: "json|@file", help: "run the call with this input instead" },
    remember: { type: "string", value: "scope", help: "do not ask about it again in this task, session or project" },
    "any-input": { type: "boolean", help: "with --remember: whatever the input" },
  },
  async run(context, { values, positionals: [id = ""] }) {
    const editedInput = values.edit === undefined ? undefined : await readJsonArgument("--edit", values.edit);
    const remember = values.remember === undefined ? undefined : readScope(values.remember);
    const client = await context.client();
    const approval = await findPending(client, id);
    const question = "Approve?";
    const assent = { yes: values.yes === true, hash: values.hash, question, editedInput };
    if (!(await confirm(context, approval, assent))) {
      context.print.note("not approved; it still waits");
      return EXIT.failed;
    }
    const extras = { reason: values.reason, editedInput, remember, rememberAnyInput: values["any-input"] };
    tellDecided(context, await decide(client, approval, "APPROVE", extras), values.json === true);
    return EXIT.ok;
  },
});

function readScope(text: string): RememberScope {
  const scope = SCOPES.find((one) => one === text.toUpperCase());
  if (scope === undefined) throw new UsageError(`--remember is one of ${SCOPES.join(", ").toLowerCase()}`);
  return scope;
}
