import { describeNeeding } from "@airlock/shared/testing";
import { describe, expect, it } from "vitest";
import { CLOCK, echo, PythonAgent, pythonValue, runPython } from "../../../testing/python-agent.ts";

const LOOK = `import time, datetime, random, uuid, secrets, os, tempfile, threading
class Slot: pass
def look():
  return [time.time(), time.time_ns(), time.monotonic(), time.perf_counter_ns(), time.process_time(),
    str(datetime.datetime.now()), str(datetime.datetime.now(datetime.timezone.utc)), str(datetime.date.today()),
    str(datetime.datetime.utcnow()), time.gmtime()[:], time.strftime("%c"), time.ctime(), time.localtime().tm_zone,
    random.random(), random.Random().random(), random.SystemRandom().random(), str(uuid.uuid4()), str(uuid.uuid1()),
    secrets.token_hex(8), os.urandom(8).hex(), os.getrandom(8).hex(), tempfile.mktemp(), hash("text"), list({"a", "b", "c", "d"})]
`;

describeNeeding("python", "the clock and the randomness of a Python program", () => {
  it("are those of the first run, in each way to look at them", async () => {
    const code = `${LOOK}first = look(); time.sleep(0.02); return [first, look()]`;
    const first = await pythonValue(code, { seed: "ab12" });
    expect(await pythonValue(code, { seed: "ab12", env: { PYTHONHASHSEED: "random" } })).toEqual(first);
    const other = await pythonValue(code, { seed: "ab13" });
    expect(Array.from({ length: 24 }, (_, i) => [i, at(other, i) === at(first, i)]).filter(([, same]) => same)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 22, 23].map((i) => [i, true]),
    );
  });

  it("begin at the first run's start, and move only a little with each look", async () => {
    const code =
      "import time, datetime\nreturn [time.time(), time.monotonic(), datetime.datetime.now().isoformat(), type(datetime.datetime.now()) is datetime.datetime, datetime.date.today().isoformat()]";
    expect(await pythonValue(code, { clockStart: 86_400_123 })).toEqual([
      86_400.12301,
      0.00002,
      "1970-01-02T00:00:00.123030",
      true,
      "1970-01-02",
    ]);
  });

  it("a loop that waits for the clock comes to its end", async () => {
    expect(await pythonValue("import time\nend = time.time() + 0.5\nwhile time.time() < end: pass\nreturn 1")).toBe(1);
  });

  it("threads take the same turns in every run", async () => {
    const code = `import threading, time, random
def work(name):
  for i in range(20):
    print(name, i, time.time(), random.random())
    if i % 3 == 0: time.sleep(random.random() / 1000)
    if i % 7 == 0: tools.x.y(name=name, i=i)
threads = [threading.Thread(target=work, args=(n,)) for n in "abcd"]
for t in threads: t.start()
for t in threads: t.join()`;
    const run = async () => {
      const guest = new PythonAgent(code, { live: false });
      const open: number[] = [];
      let calls = 0;
      for (let left = 12; left > 0;) {
        const idle = await guest.nextIdle();
        const made = guest.said.filter(([kind]) => kind === "call");
        for (; calls < made.length; calls++) open.push(made[calls]?.[1] as number);
        const id = open.shift();
        if (id === undefined) guest.send(["tick", idle[1]]);
        else guest.settle(id, null, CLOCK + (13 - left--) * 10);
      }
      guest.send(["live"]);
      return (await guest.ended()).stdout;
    };
    const first = await run();
    expect(first.split("\n")).toHaveLength(81);
    expect(await run()).toBe(first);
  });

  describe("timers", () => {
    it.each([
      [
        "time.sleep",
        "import time\nt = tools.call\nimport threading\nt = threading.Thread(target=t, args=('x.a',)); t.start()\ntime.sleep(50); t.join()",
      ],
      ["asyncio.sleep", "import asyncio\nawait asyncio.gather(asyncio.sleep(50), tools.x.a())"],
      [
        "an event's timeout",
        "import threading\nt = threading.Thread(target=tools.x.a); t.start()\nassert not threading.Event().wait(50)\nt.join()",
      ],
    ])("%s is reported, fires when it is told to, and passes on the guest's clock", async (_, code) => {
      const guest = new PythonAgent(`${code}\nimport time\nreturn time.time()`, { live: false });
      const [, turn, waits, timerMs, timerAt] = await guest.nextIdle();
      expect([waits, Math.round((timerMs ?? 0) / 1000), Math.round((timerAt ?? 0) / 1000)]).toEqual([
        true,
        50,
        CLOCK / 1000 + 50,
      ]);
      // One of another report fires nothing, and is answered by a report that knows of it.
      guest.send(["tick", turn - 1]);
      const again = await guest.nextIdle();
      expect(again).toEqual(["idle", turn + 1, true, expect.any(Number), timerAt, 2]);
      guest.send(["tick", again[1]]);
      expect(await guest.nextIdle()).toEqual(["idle", turn + 2, true, null, null, 3]);
      guest.settle(1, null, CLOCK + 60_000);
      const { end } = await guest.ended();
      const time = end?.kind === "returned" ? Number(end.output) : 0;
      expect(Math.round(time - CLOCK / 1000)).toBe(60);
    });

    it("that were due before an outcome came fire first", async () => {
      const code = `import asyncio
seen = []
async def later(s, name): await asyncio.sleep(s); seen.append(name)
tasks = [asyncio.create_task(later(s, n)) for s, n in [(100, "late"), (40, "second"), (30, "first")]]
seen.append(await tools.x.a())
return seen`;
      const guest = new PythonAgent(code);
      await guest.nextIdle();
      guest.settle(1, "outcome", CLOCK + 50_000);
      expect((await guest.ended()).end).toMatchObject({ output: '["first","second","outcome"]' });
    });

    it("do not go by the clock before it is live, and then are due when they were", async () => {
      const code = "import time\ntime.sleep(3000)\nreturn 1";
      const guest = new PythonAgent(code, { live: false });
      expect((await guest.nextIdle())[3]).toBeGreaterThan(2_990_000);
      // It began in 2023: since then more time has passed.
      guest.send(["live"]);
      expect(await guest.nextIdle()).toMatchObject(["idle", 2, false, 0, CLOCK + 3_000_000, 2]);
      expect((await guest.ended()).end).toMatchObject({ output: "1" });
    });

    it("longer than any timer of a worker come in parts", async () => {
      const guest = new PythonAgent("import time\ntime.sleep(40 * 86400)\nreturn time.time()", { live: false });
      const [, turn, , timerMs] = await guest.nextIdle();
      expect(timerMs).toBeLessThan(2 ** 31);
      guest.send(["tick", turn]);
      guest.send(["tick", (await guest.nextIdle())[1]]);
      const { end } = await guest.ended();
      expect(end?.kind === "returned" && Math.round(Number(end.output) - CLOCK / 1000)).toBe(40 * 86_400);
    });

    it("asyncio's timeouts are timers", async () => {
      const code = `import asyncio
try: await asyncio.wait_for(asyncio.sleep(9), 0.01)
except asyncio.TimeoutError: return "late"`;
      expect(await pythonValue(code)).toBe("late");
    });
  });

  it("idle is reported after all that was said, and anew after each outcome", async () => {
    const { said } = await runPython("print('a', end='')\ntools.x.a()\nprint('b')\ntools.x.b()", { answer: echo });
    expect(said.map(([kind]) => kind)).toEqual(["ready", "out", "call", "idle", "out", "call", "idle", "done"]);
  });
});

function at(value: unknown, i: number): unknown {
  return JSON.stringify((value as unknown[][])[1]?.[i]);
}
