import { defineCommand } from "../command.ts";
import { timeWord } from "../terminal/words.ts";

export const workersLs = defineCommand({
  name: "workers ls",
  summary: "Lists the workers and what each can run.",
  async run(context, { values }) {
    const { print } = context;
    const workers = await (await context.client()).workers.list();
    if (values.json === true) print.json(workers);
    else {
      const rows = workers.map(({ id, host, state, running, capacity, providers, lastSeenAt }) => [
        id,
        print.quote(host),
        print.style(state === "RUNNING" ? "green" : state === "LOST" ? "red" : "gray", state),
        `${running}/${capacity}`,
        timeWord(print, lastSeenAt),
        providers.join(", "),
      ]);
      print.table({ head: ["ID", "HOST", "STATE", "BUSY", "LAST SEEN", "PROVIDERS"], rows, empty: "no workers" });
    }
    return 0;
  },
});
