import { defineCommand } from "../command.ts";
import { statusWord } from "../terminal/words.ts";

export const tasksCancel = defineCommand({
  name: "tasks cancel",
  summary: "Cancels tasks; one that has ended stays as it is.",
  positionals: ["<id...>"],
  async run(context, { values, positionals }) {
    const { tasks } = await context.client();
    const { print } = context;
    for (const id of positionals) {
      const status = await tasks.handle(id).cancel();
      if (values.json === true) print.jsonLine({ id, status });
      else print.line(`${id}\t${statusWord(print, status)}`);
    }
    return 0;
  },
});
