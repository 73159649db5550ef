import { defineCommand } from "../command.ts";

export const toolsLs = defineCommand({
  name: "tools ls",
  summary: "Lists the tools that programs can call.",
  positionals: ["[words...]"],
  async run(context, { values, positionals }) {
    const { print } = context;
    const tools = await (await context.client()).tools.list(positionals.join(" ") || undefined);
    if (values.json === true) print.json(tools);
    else {
      const rows = tools.map(({ path, mode, source, description }) => [
        path,
        mode,
        print.quote(source),
        print.quote(description),
      ]);
      print.table({ head: ["PATH", "MODE", "SOURCE", "DESCRIPTION"], rows, empty: "no tools" });
    }
    return 0;
  },
});
