import { defineCommand, UsageError } from "../command.ts";
import { readFileArguments } from "../file-arguments.ts";
import { readDependencies, readJsonArgument, readLabels, readNumber } from "../json-argument.ts";
import { languageOf, readSource } from "../program-source.ts";
import { followTask } from "../tasks/follow.ts";

export const run = defineCommand({
  name: "run",
  summary: "Runs a program as a task, whose outcome is the exit code.",
  positionals: ["<file|->"],
  options: {
    input: { type: "string", short: "i", value: "json|@file", help: "what the program sees as `input`" },
    file: {
      type: "string",
      short: "f",
      multiple: true,
      value: "[path=]file",
      help: "a file for its work area; may be given again",
    },
    env: { type: "string", short: "e", value: "name", help: "the environment to run in (isolate)" },
    wait: { type: "boolean", help: "show only what it returned, when it has" },
    watch: { type: "boolean", short: "w", help: "show every event: calls, approvals, parking" },
    detach: { type: "boolean", short: "d", help: "do not wait: print the task's id" },
    language: {
      type: "string",
      value: "name",
      help: "typescript, javascript, python, bash, bun (by the file's ending)",
    },
    dependency: {
      type: "string",
      multiple: true,
      value: "name@range",
      help: "an npm package that it imports; may be given again",
    },
    label: { type: "string", multiple: true, value: "name=value", help: "a label; may be given again" },
    session: { type: "string", value: "name", help: "the session that the task belongs to" },
    timeout: { type: "string", value: "ms", help: "active time; time spent parked does not count" },
    "max-tool-calls": { type: "string", value: "n", help: "beyond them the task parks and asks" },
    "no-replay": {
      type: "boolean",
      help: "run it at most once: it never parks, and is not run again when a worker is lost",
    },
    "idempotency-key": { type: "string", value: "text", help: "the same key and program make one task" },
  },
  notes: `
What the program writes is shown as it comes, then what it returned. What it writes may not be meant for your terminal:
there, characters that do not show are marked like <U+001B>; in a pipe it comes as it is.

The program is the body of an async function: \`input\` and \`tools\` are in scope, \`return\` gives the result.
Ctrl-C cancels the task; a second one leaves it alone.

  airlock run hello.ts --input '{"name": "world"}'
  echo 'return 6 * 7' | airlock run -`,
  async run(context, { values, positionals: [file = "-"] }) {
    if (values.detach === true && (values.wait === true || values.watch === true)) {
      throw new UsageError("--detach does not wait, so it goes with neither --wait nor --watch");
    }
    const task = {
      code: await readSource(file, context.stdin),
      language: languageOf(file, values.language),
      input: values.input === undefined ? undefined : await readJsonArgument("--input", values.input),
      files: await readFileArguments(values.file),
      environment: values.env,
      dependencies: readDependencies(values.dependency),
      labels: readLabels(values.label),
      session: values.session,
      timeoutMs: readNumber("--timeout", values.timeout),
      maxToolCalls: readNumber("--max-tool-calls", values["max-tool-calls"]),
      replayable: values["no-replay"] === true ? false : undefined,
      idempotencyKey: values["idempotency-key"],
    };
    const client = await context.client();
    const handle = await client.tasks.submit(task);
    const json = values.json === true;
    if (values.detach !== true) {
      const show = values.watch === true ? "all" : values.wait === true ? "silent" : "output";
      return followTask(context, handle, { json, show });
    }
    if (json) context.print.json({ id: handle.id });
    else context.print.line(handle.id);
    return 0;
  },
});
