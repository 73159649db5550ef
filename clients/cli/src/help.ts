import type { Command, Option } from "./command.ts";

export const COMMON_OPTIONS = {
  json: { type: "boolean", help: "print JSON" },
  help: { type: "boolean", short: "h", help: "this text" },
} as const satisfies Record<string, Option>;

export const GATEWAY_OPTIONS = {
  url: { type: "string", value: "address", help: "of the gateway (AIRLOCK_URL, else the login, else this machine)" },
  key: { type: "string", value: "key", help: "API key (AIRLOCK_KEY, else the login, else this machine's)" },
} as const satisfies Record<string, Option>;

const SETTINGS = `The gateway and the key come from --url and --key, then AIRLOCK_URL and AIRLOCK_KEY, then "airlock login", then an
Airlock that was started on this machine (AIRLOCK_PORT, AIRLOCK_HOME).

Exit codes: 0 done, 1 the task failed, 2 wrong usage, 3 the task was cancelled, 4 it timed out, 5 the gateway refused or
does not answer.
`;

export function renderOverview(commands: readonly Command[]): string {
  const intro = "airlock: runs code that an AI wrote, in a sandbox, with a human on the door";
  return `${intro}\n\nusage: airlock <command> [options]\n\n${listCommands(commands)}\n"airlock <command> --help" tells more.\n\n${SETTINGS}`;
}

/** For a noun without its verb. */
export function renderGroup(noun: string, commands: readonly Command[]): string {
  return `usage: airlock ${noun} <command> [options]\n\n${listCommands(commands)}`;
}

export function renderCommand(command: Command, options: Readonly<Record<string, Option>>): string {
  const usage = ["usage: airlock", command.name, ...(command.positionals ?? []), "[options]"].join(" ");
  const rows = Object.entries(options).map(([name, option]): [string, string] => {
    const short = option.short === undefined ? "    " : `-${option.short}, `;
    const value = option.type === "string" ? ` <${option.value ?? "text"}>` : "";
    return [`${short}--${name}${value}`, option.help];
  });
  const notes = command.notes === undefined ? "" : `\n${command.notes.trim()}\n`;
  return `${usage}\n\n${command.summary}\n\n${columns(rows)}${notes}`;
}

function listCommands(commands: readonly Command[]): string {
  return columns(
    commands.map(({ name, positionals = [], summary }): [string, string] => [
      [name, ...positionals].join(" "),
      summary,
    ]),
  );
}

function columns(rows: readonly [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}
