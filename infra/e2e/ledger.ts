import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

/**
 * Tools of a plugin outside of the repository whose effects can be counted: each run appends a line to a file that only
 * the tool knows. With a `gate` a run then waits until the test opens it, so that a worker can be killed in between.
 */
const LEDGER_PLUGIN = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export default ({ defineTool, ToolError, z }) => {
  const note = ({ secrets, taskId, callIndex, idempotencyKey }, tool, input) =>
    appendFileSync(secrets.get("LEDGER"), JSON.stringify({ tool, input, taskId, callIndex, idempotencyKey }) + "\\n");
  const line = (name, more) => defineTool({
    path: "ledger." + name,
    description: "Writes a line (" + name + ").",
    input: z.strictObject({ line: z.string(), gate: z.string().optional() }),
    output: z.string(),
    policy: "auto",
    ...more,
    run: async (context, input) => {
      note(context, name, input);
      while (input.gate && !existsSync(context.secrets.get("LEDGER") + "." + input.gate)) await sleep(20);
      return "wrote " + input.line;
    },
  });
  const fails = (name, more) => defineTool({
    path: "ledger." + name,
    description: "Does not work.",
    input: z.strictObject({}),
    policy: "auto",
    ...more,
  });
  const big = "x".repeat(2 * 1024 * 1024);
  return [
    line("add"),
    line("set", { idempotent: true }),
    defineTool({
      path: "ledger.send",
      description: "Sends something to somebody.",
      input: z.strictObject({ to: z.string(), copies: z.number().int().min(1).default(1) }),
      policy: "required",
      run: async (context, input) => {
        note(context, "send", input);
        return { sentTo: input.to, copies: input.copies };
      },
    }),
    defineTool({
      path: "ledger.pay",
      description: "Pays; the amount decides who is asked.",
      input: z.strictObject({ amount: z.number() }),
      policy: ({ amount }) => (amount < 0 ? "deny" : amount > 100 ? "required" : "auto"),
      run: async (context, input) => {
        note(context, "pay", input);
        return input.amount;
      },
    }),
    fails("refuse", { run: async () => { throw new ToolError("the ledger is closed today"); } }),
    fails("crash", { run: async () => { throw new TypeError("nothing is what it seems"); } }),
    fails("hang", { timeoutMs: 300, run: () => new Promise(() => {}) }),
    fails("lie", { output: z.number(), run: async () => "a text" }),
    fails("flood", { run: async () => big }),
    fails("file", { run: async () => big, answersWithArtifact: true }),
  ];
};
`;

/** TypeScript, with plain definitions instead of made tools. */
const PLAIN_PLUGIN = `
import { z } from ${JSON.stringify(createRequire(import.meta.url).resolve("zod"))};
interface Who { readonly name: string }
export const notATool = 7;
export const hello = {
  path: "plain.hello",
  description: "Says hello.",
  input: z.object({ name: z.string() }),
  policy: "auto",
  run: async (_context: unknown, { name }: Who) => "hello " + name,
};
`;

export interface LedgerEntry {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly taskId: string;
  readonly callIndex: number;
  readonly idempotencyKey: string;
}

export interface Ledger {
  /** What workers need to have the tools. */
  readonly env: Readonly<Record<string, string>>;
  /** Every effect so far, in order; of one task where it is given. */
  entries(taskId?: string): LedgerEntry[];
  open(gate: string): void;
  remove(): Promise<void>;
}

export async function createLedger(): Promise<Ledger> {
  const home = await mkdtemp(path.join(tmpdir(), "airlock-ledger-"));
  const file = path.join(home, "ledger");
  const plugins = { "ledger.mjs": LEDGER_PLUGIN, "plain.mts": PLAIN_PLUGIN };
  for (const [name, text] of Object.entries(plugins)) writeFileSync(path.join(home, name), text);
  const tools = Object.keys(plugins).map((name) => path.join(home, name));
  return {
    env: { AIRLOCK_TOOLS: tools.join(","), AIRLOCK_SECRET_LEDGER: file },
    entries: (taskId) => readEntries(file).filter((entry) => taskId === undefined || entry.taskId === taskId),
    open: (gate) => writeFileSync(`${file}.${gate}`, ""),
    remove: () => rm(home, { recursive: true, force: true }),
  };
}

function readEntries(file: string): LedgerEntry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LedgerEntry);
}
