import type { Artifact } from "@airlock/client";
import { defineCommand, UsageError } from "../command.ts";
import { saveInto } from "../save-into.ts";

export const tasksDownload = defineCommand({
  name: "tasks download",
  summary: "Saves the files that a task has left.",
  positionals: ["<id>", "[name...]"],
  options: {
    output: { type: "string", short: "o", value: "folder", help: "where to save them (a folder with the task's id)" },
  },
  notes: `
All files, or those named. Their names come from the program: nothing is written outside the folder, and nothing that is
there is replaced.`,
  async run(context, { values, positionals: [id = "", ...names] }) {
    const { print } = context;
    const { artifacts } = await context.client();
    // Of two with one name, the newer one counts.
    const left = new Map<string, Artifact>();
    for (const file of await artifacts.list(id)) if (file.direction === "OUTPUT") left.set(file.name, file);
    const missing = names.find((name) => !left.has(name));
    if (missing !== undefined) throw new UsageError(`the task has left no file called ${print.quote(missing)}`);
    const wanted = [...left.values()].filter((file) => names.length === 0 || names.includes(file.name));
    const saved: { name: string; path: string; size: number }[] = [];
    for (const file of wanted) {
      const path = await saveInto(values.output ?? id, file.name, () => artifacts.download(file.id));
      saved.push({ name: file.name, path, size: file.size });
      if (values.json !== true) print.line(print.quote(path));
    }
    if (values.json === true) print.json(saved);
    return 0;
  },
});
