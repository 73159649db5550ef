import { createClient } from "@airlock/client";
import { defineCommand, UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { writeLogin } from "../login-file.ts";
import { ask } from "../terminal/ask.ts";

export const login = defineCommand({
  name: "login",
  summary: "Keeps the address of a gateway and a key for it.",
  notes: `
Asks for what --url and --key do not give; without a terminal the key is read from the standard input.
Tries the key before it is kept, in $XDG_CONFIG_HOME/airlock/login.json (~/.config), for its owner's eyes only.`,
  async run(context, { values }) {
    const flags = values as { url?: string; key?: string; json?: boolean };
    const url = flags.url ?? context.env["AIRLOCK_URL"] ?? (await askUrl(context));
    if (!URL.canParse(url)) throw new UsageError(`${JSON.stringify(url)} is no address`);
    const key = flags.key ?? (await askKey(context));
    if (key === null || key === "") throw new UsageError("no key was given");
    await createClient({ url, key }).workers.list();
    const file = await writeLogin(context.env, { url, key });
    if (flags.json === true) context.print.json({ url, file });
    else context.print.line(`logged in at ${url}; kept in ${file}`);
    return 0;
  },
});

const LOCAL = "http://127.0.0.1:4001";

async function askUrl({ stdin }: Context): Promise<string> {
  if (!stdin.isTTY) return LOCAL;
  return (await ask(`Address (${LOCAL}): `, { input: stdin })) || LOCAL;
}

async function askKey({ stdin }: Context): Promise<string | null> {
  if (stdin.isTTY) return ask("Key (not shown): ", { input: stdin, secret: true });
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) text += chunk as string;
  return text.trim();
}
