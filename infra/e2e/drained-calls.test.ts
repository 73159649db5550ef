import { expect, it } from "vitest";
import { askedOnce } from "./decisions.ts";
import { describeOnEachBackend, startRig } from "./rig.ts";
import { ended, submit, until } from "./tasks.ts";

const PROGRAM = `
  try { return { got: await tools.ledger[input]({ line: "during", gate: "open" }) } }
  catch (error) { return { code: error.code } }`;

describeOnEachBackend("a worker is drained (SIGTERM) while a call is running", (backend) => {
  it("an idempotent call is run again with the same key, about any other a person is asked, and none has failed", async () => {
    const rig = await startRig(backend, { env: { AIRLOCK_DRAIN_MS: "200" } });
    try {
      const [set, add] = await Promise.all(["set", "add"].map((input) => submit(rig.api, { code: PROGRAM, input })));
      const ids = [set ?? "", add ?? ""] as const;
      for (const id of ids) await until(rig.api, id, () => rig.ledger.entries(id).length === 1);
      for (const worker of rig.fleet.workers) worker.kill("SIGTERM");
      await Promise.all(ids.map((id) => until(rig.api, id, ({ status }) => status === "QUEUED")));
      rig.ledger.open("open");
      await rig.fleet.addWorker();
      expect(await ended(rig.api, ids[0])).toMatchObject({ output: { got: "wrote during" }, approvals: [] });
      const keys = rig.ledger.entries(ids[0]).map(({ idempotencyKey }) => idempotencyKey);
      expect(keys).toEqual([`${ids[0]}/0`, `${ids[0]}/0`]);
      expect(await askedOnce(rig.api, ids[1])).toMatchObject({ kind: "UNKNOWN_OUTCOME" });
      expect(rig.ledger.entries(ids[1])).toHaveLength(1);
    } finally {
      await rig.stop();
    }
  });
});
