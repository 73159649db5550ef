import type { Environment } from "@airlock/client";
import { defineCommand, UsageError } from "../command.ts";
import type { Printer } from "../terminal/printer.ts";
import { shortJson, timeWord } from "../terminal/words.ts";

export const environmentsShow = defineCommand({
  name: "environments show",
  summary: "Shows an environment: its provider, configuration and limits.",
  positionals: ["<name>"],
  async run(context, { values, positionals: [name = ""] }) {
    const environment = await (await context.client()).environments.get(name);
    if (environment === null) throw new UsageError(`there is no environment ${JSON.stringify(name)} in this project`);
    if (values.json === true) context.print.json(environment);
    else for (const line of describe(context.print, environment)) context.print.line(line);
    return 0;
  },
});

function describe(print: Printer, environment: Environment): string[] {
  const { config, dependencies, limits, repository } = environment;
  const field = (name: string, value: string | null): string[] =>
    value === null ? [] : [`${print.style("bold", name.padEnd(12))} ${value}`];
  const json = (value: unknown): string | null => {
    const text = shortJson(print, value, 500);
    return text === "{}" ? null : text;
  };
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
  return [
    ...field("environment", environment.isDefault ? `${environment.name} (default)` : environment.name),
    ...field("state", environment.active ? "active" : "deactivated"),
    ...field("source", environment.source.toLowerCase().replace("_", "-")),
    ...field("revision", environment.revision === null ? null : String(environment.revision)),
    ...field("changed", environment.updatedAt && timeWord(print, environment.updatedAt)),
    ...field("provider", print.quote(environment.provider)),
    ...field("languages", environment.languages.join(", ").toLowerCase()),
    ...field("config", json(config)),
    ...field("limits", json(given)),
    ...field("repository", repository && print.quote(`${repository.url} at ${repository.ref}`)),
    ...field("dependencies", json(dependencies)),
    ...field("provision", environment.provision && print.quote(environment.provision)),
    ...field("lease", environment.leasePolicy.toLowerCase()),
    ...field("network", environment.network.toLowerCase()),
  ];
}
