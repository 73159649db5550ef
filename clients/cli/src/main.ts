import { createClient } from "@airlock/client";
import { findCommand } from "./find-command.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands/index.ts";
import type { Context } from "./context.ts";
import { tellFailure } from "./failures.ts";
import { renderCommand, renderGroup, renderOverview } from "./help.ts";
import { createInterruption } from "./interruption.ts";
import { type Invocation, optionsOf, parseInvocation } from "./parse.ts";
import { findSettings, type SettingsFlags } from "./settings.ts";
import { createPrinter } from "./terminal/printer.ts";

const print = createPrinter(process.stdout, process.stderr);

function createContext(flags: SettingsFlags): Context {
  const settings = () => findSettings(flags, process.env, process.cwd());
  return {
    env: process.env,
    stdin: process.stdin,
    print,
    settings,
    client: async () => createClient(await settings()),
    interruption: createInterruption(),
  };
}

async function main(args: readonly string[]): Promise<number> {
  const found = findCommand(COMMANDS, args);
  switch (found.kind) {
    case "overview":
      print.line(renderOverview(COMMANDS).trimEnd());
      return 0;
    case "group":
      if (found.asked) print.line(renderGroup(found.noun, found.commands).trimEnd());
      else print.note(renderGroup(found.noun, found.commands).trimEnd());
      return found.asked ? 0 : 2;
    case "unknown":
      print.note(`airlock: there is no command ${JSON.stringify(found.name)}; "airlock --help" lists them`);
      return 2;
    case "command":
      return runCommand(found.command, found.args);
  }
}

async function runCommand(command: Command, args: readonly string[]): Promise<number> {
  let json = args.includes("--json");
  try {
    const { values, positionals }: Invocation = parseInvocation(command, args);
    json = values["json"] === true;
    if (values["help"] === true) {
      print.line(renderCommand(command, optionsOf(command)).trimEnd());
      return 0;
    }
    return await command.run(createContext(values), { values, positionals } as never);
  } catch (error) {
    return tellFailure(print, command, error, json);
  }
}

// Whoever reads our output may leave before we are done (`airlock tasks ls | head`): nothing is wrong then.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
}

process.exitCode = await main(process.argv.slice(2));
