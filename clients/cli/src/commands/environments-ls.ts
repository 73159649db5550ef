import { defineCommand } from "../command.ts";

export const environmentsLs = defineCommand({
  name: "environments ls",
  summary: "Lists the environments that tasks can run in.",
  async run(context, { values }) {
    const { print } = context;
    const environments = await (await context.client()).environments.list();
    if (values.json === true) print.json(environments);
    else {
      const rows = environments.map(({ name, provider, languages, revision, active, isDefault, source }) => [
        isDefault ? print.style("bold", `${name} (default)`) : name,
        print.quote(provider),
        languages.join(", ").toLowerCase(),
        revision === null ? "" : String(revision),
        print.style(active ? "green" : "gray", active ? "active" : "deactivated"),
        source.toLowerCase().replace("_", "-"),
      ]);
      print.table({
        head: ["NAME", "PROVIDER", "LANGUAGES", "REVISION", "STATE", "SOURCE"],
        rows,
        empty: "no environments",
      });
    }
    return 0;
  },
});
