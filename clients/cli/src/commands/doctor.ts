import { defineCommand } from "../command.ts";
import { CHECKS, type Finding } from "../doctor/checks.ts";
import { checkGateway } from "../doctor/gateway.ts";
import type { Colour } from "../terminal/printer.ts";

const COLOURS: Readonly<Record<Finding["state"], Colour>> = { ok: "green", missing: "yellow", broken: "red" };

export const doctor = defineCommand({
  name: "doctor",
  summary: "Tells what this machine can enforce, and what is missing.",
  notes: `
What is missing makes something unavailable; the exit code is 1 only where Airlock itself cannot work. What a worker has
proved stands on every task (airlock tasks show), and counts more than what is installed.`,
  async run(context, { values }) {
    const { print } = context;
    const findings = await Promise.all([...CHECKS.map((check) => check()), checkGateway(context)]);
    if (values.json === true) print.json(findings);
    else {
      const rows = findings.map(({ name, state, found, meaning }) => [
        name,
        print.style(COLOURS[state], state),
        print.quote(meaning),
        print.quote(found),
      ]);
      print.table({ head: ["PART", "STATE", "MEANING", "FOUND"], rows, empty: "" });
    }
    return findings.some(({ state }) => state === "broken") ? 1 : 0;
  },
});
