import { defineCommand } from "../command.ts";
import { shortJson } from "../terminal/words.ts";

export const environmentsProbe = defineCommand({
  name: "environments probe",
  summary: "Has a worker make a sandbox of an environment, and tells what it proved.",
  positionals: ["<name>"],
  notes: "Exit code 1 where the environment cannot be had.",
  async run(context, { values, positionals: [name = ""] }) {
    const { print } = context;
    const probe = await (await context.client()).environments.probe(name);
    const { available, reason, isolation, workerId } = probe;
    if (values.json === true) print.json(probe);
    else {
      print.line(print.style(available ? "green" : "red", available ? "available" : "not available"));
      if (reason !== null) print.line(print.quote(reason));
      if (isolation !== null) {
        print.line(
          `isolation  ${isolation.level} (${isolation.provider}) ${shortJson(print, isolation.enforced, 500)}`,
        );
      }
      if (workerId !== null) print.line(`worker     ${workerId}`);
    }
    return available ? 0 : 1;
  },
});
