import { DEFAULT_GUEST_LIMITS } from "@airlock/shared/domain";
import { beforeAll, describe, expect, it } from "vitest";
import { makeTestEngine, type TestEngine } from "../../../../testing/engine.ts";
import { CALL_INPUT_CHARS, CALL_PATH_CHARS, OPEN_CALLS } from "../../../guests/javascript/call-limits.ts";
import { HOST_FUNCTIONS } from "../../../guests/isolate/glue.ts";
import type { GuestEnd, RunMessage } from "../messages.ts";
import { GuestRun } from "./guest-run.ts";
import type { Said } from "./messages.ts";
import { Unsent } from "./unsent.ts";

let engine: TestEngine;
beforeAll(() => {
  engine = makeTestEngine();
});

const REQUEST: RunMessage = {
  type: "run",
  id: 1,
  project: "p",
  typescript: false,
  code: "",
  input: null,
  seed: "00",
  clockStart: 0,
  state: null,
  live: false,
  limits: DEFAULT_GUEST_LIMITS,
  replayMs: 60_000,
};

/** A guest in this very thread, and what it reports. */
function run(code: string) {
  const machine = engine.newMachine();
  const reported = { said: [] as Said[], turns: 0, end: null as GuestEnd | null, sound: null as boolean | null };
  const shared = { cancelled: new Int32Array(1), unsent: new Unsent(), resumed: null };
  const guest = new GuestRun(machine, REQUEST, shared, {
    output: (said) => void reported.said.push(said),
    turn: (said) => {
      reported.said.push(said);
      reported.turns++;
    },
    ended: (end, said, _dropped, sound) => Object.assign(reported, { end, sound }, void reported.said.push(said)),
  });
  guest.start(code);
  /** As the glue calls the host, but for what it checks before. */
  const call = (id: number, path: string, input: string) => {
    const args = machine.engine.wasm_malloc(12);
    const boxes = [machine.evaluate(String(id), machine.image.pointers.fileNames.js, 1)];
    boxes.push(machine.newString(path), machine.newString(input));
    boxes.forEach((box, i) => machine.view.setUint32(args + 4 * i, box, true));
    return guest.call(HOST_FUNCTIONS.call.charCodeAt(0), 3, args);
  };
  return { guest, machine, reported, call, shared };
}

const WAITING = "await tools.x.y({}); return 1";
const stops = (message: RegExp): unknown =>
  expect.objectContaining({
    end: { kind: "failed", code: "GUEST_ERROR", message: expect.stringMatching(message) as string },
    sound: false,
  });

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (thrown) {
    return thrown;
  }
  return "nothing was thrown";
}

describe("a guest that got around the glue is ended, and its machine is not used again, when it sends", () => {
  it.each<[string, [number, string, string], RegExp]>([
    ["a path beyond the limit", [2, "x".repeat(CALL_PATH_CHARS + 1), "{}"], /path has more than 256/],
    ["a path far beyond the limit", [2, "é".repeat(1e6), "{}"], /path has more than 256/],
    ["an input beyond the limit", [2, "x.y", "x".repeat(CALL_INPUT_CHARS + 1)], /input has more than/],
    ["an input far beyond the limit", [2, "x.y", "\u20ac".repeat(CALL_INPUT_CHARS + 1)], /input has more than/],
    ["a number that is none", [1.5, "x.y", "{}"], /no number/],
    ["no number", [Number.NaN, "x.y", "{}"], /no number/],
    ["a number below 1", [0, "x.y", "{}"], /no number/],
  ])("%s", (_, sent, message) => {
    const { call } = run(WAITING);
    expect(thrownBy(() => call(...sent))).toEqual(stops(message));
  });

  it("more calls than the worker would hold", () => {
    const { call } = run(WAITING);
    for (let id = 2; id <= OPEN_CALLS; id++) call(id, "x.y", "{}");
    expect(thrownBy(() => call(OPEN_CALLS + 1, "x.y", "{}"))).toEqual(stops(/others wait/));
  });

  it("and what is just within the limits goes through", () => {
    const { call, guest, reported } = run(WAITING);
    call(2, "é".repeat(CALL_PATH_CHARS), "\u20ac".repeat(CALL_INPUT_CHARS));
    guest.settle(1, 0, '{"id":1,"ok":true,"meta":{}}');
    const sizes = reported.said.flatMap(({ calls }) =>
      calls.map(([id, path, input]) => [id, path.length, input.length]),
    );
    expect(sizes).toEqual([
      [1, 3, 2],
      [2, CALL_PATH_CHARS, CALL_INPUT_CHARS],
    ]);
    expect(reported.end).toEqual({ kind: "returned", output: "1" });
  });

  it("a call of a host function that there is not", () => {
    const { guest } = run(WAITING);
    expect(() => guest.call("z".charCodeAt(0), 0, 0)).toThrow("unknown host function");
  });
});

describe("what a guest prints", () => {
  it("travels with its end, in one message, where it is short", () => {
    const { reported } = run('console.log("a"); console.error("b"); return 1');
    expect(reported.said).toEqual([
      {
        chunks: [
          [1, "a\n"],
          [2, "b\n"],
        ],
        calls: [],
      },
    ]);
  });
});
