import { setTimeout as sleep } from "node:timers/promises";
import { findAsked, giveBack } from "@airlock/shared/db";
import { beforeEach, describe, expect, it } from "vitest";
import { useCalledTools } from "../../testing/called-tools.ts";
import { hashOf } from "./judge-call.ts";

const tools = useCalledTools();
beforeEach(() => {
  tools.meanwhile = async () => undefined;
});

const CALL = (name: string, amount = 10_000): string => `
  try { return await tools.bank.${name}({ amount: ${amount} }) }
  catch (error) { return error.code }`;
/** What runs instead of 10,000. */
const EDITED = { amount: 10, currency: "EUR" };

const statuses = async (id: string) => (await tools.calls(id)).map(({ status }) => status);
const inputs = (id: string) => tools.runs(id).map(({ input }) => input);
const output = async (id: string) => JSON.parse((await tools.worker.task(id)).output ?? "null") as unknown;

/** A task that has parked for a call, which was then approved with 10 instead of 10,000. */
async function approvedEdited(name: string): Promise<string> {
  const id = await tools.submit(CALL(name));
  await tools.segment(id);
  await tools.decide(id, { editedInput: '{"amount":10}' });
  return id;
}

describe("an approver's edited input, when the worker is lost after the call was journaled as started", () => {
  it("is what an idempotent tool is run with again", async () => {
    const id = await approvedEdited("set");
    await tools.loseAfterClaim(id);
    expect(await statuses(id)).toEqual(["STARTED"]);
    await tools.segment(id);
    expect(inputs(id)).toEqual([EDITED]);
    expect(await output(id)).toBe("done");
  });

  it("is what a person is asked about, and what runs where it did not happen", async () => {
    const id = await approvedEdited("pay");
    await tools.loseAfterClaim(id);
    await tools.segment(id);
    const [call] = await tools.calls(id);
    const [approval] = await tools.asked(id);
    expect(approval).toMatchObject({ kind: "UNKNOWN_OUTCOME", edited_input: JSON.stringify(EDITED) });
    expect(approval?.input_hash).toEqual(hashOf("bank.pay", call?.version ?? "", EDITED));
    await tools.decide(id, { answer: '{"outcome":"did_not"}' });
    await tools.segment(id);
    expect(inputs(id)).toEqual([EDITED]);
    expect(await output(id)).toBe("done");
  });

  it("is still what is asked about when the next worker is lost, too", async () => {
    const id = await approvedEdited("pay");
    await tools.loseAfterClaim(id);
    await tools.segment(id);
    await tools.decide(id, { answer: '{"outcome":"did_not"}' });
    tools.meanwhile = async () => tools.worker.context.running.stopAll("drain");
    await tools.segment(id);
    tools.meanwhile = async () => undefined;
    await tools.segment(id);
    expect(await tools.asked(id)).toMatchObject([{ kind: "UNKNOWN_OUTCOME", edited_input: JSON.stringify(EDITED) }]);
    await tools.decide(id, { answer: '{"outcome":"did_not"}' });
    await tools.segment(id);
    expect(inputs(id)).toEqual([EDITED, EDITED]);
  });
});

it("an edited question is the one that is asked, and whose schema the answer has to fit", async () => {
  const id = await tools.submit(CALL("quiz"));
  await tools.segment(id);
  await tools.decide(id, { editedInput: '{"amount":10}' });
  await tools.segment(id);
  const [approval] = await tools.asked(id);
  expect(approval).toMatchObject({ kind: "QUESTION", edited_input: JSON.stringify(EDITED) });
  const asked = await findAsked(tools.db, [approval?.id ?? ""]);
  expect(asked.get(approval?.id ?? "")?.input).toBe(JSON.stringify(EDITED));
});

describe("a call that waits instead of running, found started", () => {
  it("parks for as long as it was approved to", async () => {
    const id = await tools.submit(CALL("nap"));
    await tools.segment(id);
    await tools.decide(id, {});
    await tools.loseAfterClaim(id);
    await tools.segment(id);
    expect(await tools.worker.task(id)).toMatchObject({ status: "PARKED", waiting_for: "timer" });
    expect(await statuses(id)).toEqual(["WAITING"]);
  });

  it("asks its question, and not whether it took effect", async () => {
    const id = await tools.submit(CALL("quiz"));
    await tools.segment(id);
    await tools.decide(id, {});
    await tools.loseAfterClaim(id);
    await tools.segment(id);
    expect(await tools.asked(id)).toMatchObject([{ kind: "QUESTION" }]);
  });
});

describe.each(["drain", "misplaced", "unwritable"] as const)(
  "a segment that is stopped (%s) under a call",
  (reason) => {
    const stop = async (id: string): Promise<void> => {
      tools.meanwhile = async ({ signal }) => {
        tools.worker.context.running.stop([id], reason);
        // As a tool that listens: it fails by itself.
        await sleep(60_000, undefined, { signal });
      };
      await tools.segment(id);
      tools.meanwhile = async () => undefined;
      expect(await tools.worker.task(id)).toMatchObject({ status: "QUEUED" });
      expect(await statuses(id)).toEqual(["STARTED"]);
    };

    it("leaves it started: an idempotent tool is run again, with the same key", async () => {
      const id = await tools.submit(CALL("set"));
      await tools.segment(id);
      await tools.decide(id, {});
      await stop(id);
      await tools.segment(id);
      expect(await output(id)).toBe("done");
      expect(tools.runs(id).map(({ idempotencyKey }) => idempotencyKey)).toEqual([`${id}/0`, `${id}/0`]);
    });

    it("leaves it started: about any other a person is asked", async () => {
      const id = await tools.submit(CALL("pay"));
      await tools.segment(id);
      await tools.decide(id, {});
      await stop(id);
      await tools.segment(id);
      expect(await tools.asked(id)).toMatchObject([{ kind: "UNKNOWN_OUTCOME", edited_input: null }]);
      expect(tools.runs(id)).toHaveLength(1);
    });
  },
);

it("a worker that drains right after a tool has answered keeps the answer", async () => {
  const id = await tools.submit(`
    tools.bank.get({ amount: 1 }).catch(() => {});
    return await tools.bank.get({ amount: 2 })`);
  tools.meanwhile = async (_, { input }) => {
    if ((input as { amount: number }).amount === 1) return;
    setImmediate(() => tools.worker.context.running.stop([id], "drain"));
    await sleep(60_000);
  };
  await tools.segment(id);
  expect(await statuses(id)).toEqual(["SUCCEEDED", "STARTED"]);
});

describe("a worker that is frozen while it journals a call as started", () => {
  it("does not run it after others have taken the task over", async () => {
    const id = await tools.submit(CALL("get"));
    const { store, running } = tools.worker.context;
    let fresh = true;
    // Its first beat after all that time: the task was taken from it.
    const isFresh = async (): Promise<void> => {
      if (fresh) return;
      await giveBack(tools.db, { taskId: id, fence: 1 }, "worker drains");
      running.stop([id], "fenced");
    };
    const heart = { ...tools.worker.context.heart, isFresh };
    const frozen: typeof store = {
      ...store,
      write: async (write) => {
        const written = await store.write(write);
        if (write.calls.length > 0) fresh = false;
        return written;
      },
    };
    await tools.segment(id, { heart, store: frozen });
    expect(await statuses(id)).toEqual(["STARTED"]);
    expect(tools.runs(id)).toEqual([]);
  });
});

describe("a person who cannot say whether a call took effect", () => {
  it.each([
    ["DENIED", "not my business"],
    ["EXPIRED", null],
    ["CANCELLED", "superseded"],
    ["CANCELLED", null],
  ] as const)("leaves its outcome unknown: %s, %s", async (status, reason) => {
    const id = await tools.submit(CALL("pay"));
    await tools.segment(id);
    await tools.decide(id, {});
    await tools.loseAfterClaim(id);
    await tools.segment(id);
    await tools.decide(id, { status, reason });
    await tools.segment(id);
    expect(await output(id)).toBe("CALL_OUTCOME_UNKNOWN");
    expect(await tools.calls(id)).toMatchObject([{ status: "FAILED", error_code: "CALL_OUTCOME_UNKNOWN" }]);
    expect(tools.runs(id)).toEqual([]);
  });
});
