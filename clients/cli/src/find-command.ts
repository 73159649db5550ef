import type { Command } from "./command.ts";

type Found =
  | { readonly kind: "overview" }
  | { readonly kind: "command"; readonly command: Command; readonly args: readonly string[] }
  | { readonly kind: "group"; readonly noun: string; readonly commands: readonly Command[]; readonly asked: boolean }
  | { readonly kind: "unknown"; readonly name: string };

/** The longest name wins: `tasks ls` before `tasks`. */
export function findCommand(commands: readonly Command[], args: readonly string[]): Found {
  const [first, second, ...rest] = args[0] === "help" ? [...args.slice(1), "--help"] : args;
  if (first === undefined || first === "--help" || first === "-h") return { kind: "overview" };
  const named = (name: string): Command | undefined => commands.find((command) => command.name === name);
  const pair = second === undefined ? undefined : named(`${first} ${second}`);
  if (pair !== undefined) return { kind: "command", command: pair, args: rest };
  const single = named(first);
  if (single !== undefined)
    return { kind: "command", command: single, args: args[0] === "help" ? ["--help"] : args.slice(1) };
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length === 0) return { kind: "unknown", name: first };
  const asked = second === "--help" || second === "-h";
  if (second !== undefined && !asked) return { kind: "unknown", name: `${first} ${second}` };
  return { kind: "group", noun: first, commands: group, asked };
}
