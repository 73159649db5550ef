import { defineCommand } from "../command.ts";

export const tasksArtifacts = defineCommand({
  name: "tasks artifacts",
  summary: "Lists the files that a task was given and has left.",
  positionals: ["<id>"],
  async run(context, { values, positionals: [id = ""] }) {
    const { print } = context;
    const files = await (await context.client()).artifacts.list(id);
    if (values.json === true) print.json(files);
    else {
      const rows = files.map((file) => [
        file.id,
        file.direction,
        String(file.size),
        file.contentType,
        print.quote(file.name),
      ]);
      print.table({ head: ["ID", "DIRECTION", "BYTES", "TYPE", "NAME"], rows, empty: "no files" });
    }
    return 0;
  },
});
