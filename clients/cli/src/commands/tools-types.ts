import { defineCommand } from "../command.ts";

export const toolsTypes = defineCommand({
  name: "tools types",
  summary: "Prints the tools as TypeScript, for a model's prompt.",
  positionals: ["[words...]"],
  async run(context, { values, positionals }) {
    const types = await (await context.client()).tools.types(positionals.join(" ") || undefined);
    if (values.json === true) context.print.json({ types });
    else context.print.guest("stdout", types.endsWith("\n") ? types : `${types}\n`);
    return 0;
  },
});
