import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { DrivenGuest } from "../../../testing/driven-guest.ts";
import type { Lease, OutputBounds } from "../port.ts";
import { failed, returned, type Run, type Start } from "./expectations.ts";

const BOUNDS = { files: 100, fileBytes: 1_000_000, totalBytes: 2_000_000 };

async function take(lease: Lease, bounds: Partial<OutputBounds> = {}) {
  const files: Record<string, string> = {};
  const left: Record<string, string> = {};
  const onLeft = (path: string, reason: string) => void (left[path] = reason);
  for await (const file of lease.outputs({ ...BOUNDS, onLeft, ...bounds })) {
    const pieces: Buffer[] = [];
    for await (const piece of file.content()) pieces.push(piece);
    files[file.path] = Buffer.concat(pieces).toString();
    expect(Buffer.byteLength(files[file.path] ?? "")).toBe(file.size);
  }
  return { files, left };
}

/** What is left when it has ended, and before it is given back. */
export async function outputsOf(guest: DrivenGuest, bounds: Partial<OutputBounds> = {}) {
  const outcome = await guest.running.outcome;
  const taken = await take(guest.lease, bounds);
  await guest.ended();
  return { outcome, ...taken };
}

export function files(start: Start): void {
  it("what goes in is there, and what the program makes or changes comes out", async () => {
    const input = [
      { path: "a.txt", content: Buffer.from("a") },
      { path: "deep/b.txt", content: Buffer.from("b") },
      { path: "same.txt", content: Buffer.from("same") },
    ];
    const guest = await start(
      `import fs from "node:fs";
       const read = fs.readFileSync("a.txt", "utf8") + fs.readFileSync("/work/deep/b.txt", "utf8");
       fs.writeFileSync("deep/b.txt", "changed"); fs.mkdirSync("new"); fs.writeFileSync("new/c.txt", "é");
       fs.writeFileSync("/tmp/no.txt", "no"); fs.writeFileSync(process.env.HOME + "/no.txt", "no");
       return read`,
      { lease: { files: input } },
    );
    expect(await outputsOf(guest)).toMatchObject({
      outcome: returned("ab"),
      files: { "deep/b.txt": "changed", "new/c.txt": "é" },
      left: {},
    });
  });

  it("is there also after a failure and after a TIMEOUT", async () => {
    const code = 'require("fs").writeFileSync("made", "1");';
    const thrown = await outputsOf(await start(`${code} throw new Error("boom")`));
    expect(thrown).toMatchObject({ outcome: failed("GUEST_ERROR"), files: { made: "1" } });
    const late = await outputsOf(await start(`${code} for (;;) {}`, { limits: { timeoutMs: 3000 } }));
    expect(late).toMatchObject({ outcome: failed("TIMEOUT"), files: { made: "1" } });
  });

  it("links, FIFOs and sparse monsters are left, never followed, opened or read", async () => {
    const guest = await start(`
      import fs from "node:fs"; import { spawnSync } from "node:child_process";
      fs.symlinkSync("/etc/passwd", "link"); fs.symlinkSync("/", "root"); fs.symlinkSync("..", "up");
      fs.writeFileSync("good", "good"); fs.linkSync("good", "twice"); spawnSync("mkfifo", ["fifo"]);
      fs.ftruncateSync(fs.openSync("sparse", "w+"), 2 ** 40);
      fs.writeFileSync("fine", "fine")`);
    const { files, left } = await outputsOf(guest);
    expect(files).toEqual({ fine: "fine" });
    expect(Object.keys(left).toSorted()).toEqual(["fifo", "good", "link", "root", "sparse", "twice", "up"]);
  });

  it("no more than asked for is taken; the rest is named", async () => {
    const code = 'const fs = require("fs"); for (let i = 0; i < 6; i++) fs.writeFileSync("f" + i, "x".repeat(10))';
    const few = await outputsOf(await start(code), { files: 2 });
    expect([Object.keys(few.files), Object.keys(few.left)]).toEqual([
      ["f0", "f1"],
      ["f2", "f3", "f4", "f5"],
    ]);
    const small = await outputsOf(await start(code), { totalBytes: 35 });
    expect(Object.keys(small.files)).toEqual(["f0", "f1", "f2"]);
  });
}

export function processes(run: Run, start: Start): void {
  it("an exit code is told, and one that is not zero fails the program", async () => {
    expect((await run('console.log("1"); process.exit(0)')).outcome).toMatchObject({ kind: "returned", exitCode: 0 });
    const { outcome } = await run("process.exit(3)");
    expect(outcome).toMatchObject({ ...failed("GUEST_ERROR", /3/), exitCode: 3 });
  });

  it("a program that kills its own process has failed, and nobody else has", async () => {
    const { outcome } = await run('process.kill(process.pid, "SIGKILL"); await new Promise(() => {})');
    expect(outcome).toMatchObject(failed("GUEST_ERROR", /SIGKILL|137/));
  });

  it("what a child process prints, and what goes straight to a descriptor, is output on its own stream", async () => {
    const ran = await run(`
      require("child_process").spawnSync("sh", ["-c", "echo out; echo err >&2"], { stdio: "inherit" });
      require("fs").writeSync(1, "direct\\n")`);
    expect(ran).toMatchObject({ outcome: returned(undefined), stdout: "out\ndirect\n", stderr: "err\n" });
  });

  it.each(["TIMEOUT", "cancel"])(
    "%s takes every process along, also one that left its group and ignores signals",
    async (how) => {
      const stop = new AbortController();
      const beat = `setsid sh -c 'trap "" TERM HUP INT; while :; do echo beat; sleep 0.05; done' &`;
      const guest = await start(
        `require("child_process").spawn("sh", ["-c", ${JSON.stringify(`(${beat}) &`)}], { stdio: "inherit", detached: true });
       for (;;) await new Promise((resolve) => setTimeout(resolve, 50))`,
        {
          signal: stop.signal,
          limits: { timeoutMs: how === "TIMEOUT" ? 4000 : 60_000 },
          onOutput: () => how === "cancel" && stop.abort(),
        },
      );
      const { outcome, stdout } = await guest.ended();
      expect(outcome).toMatchObject(how === "cancel" ? { kind: "cancelled" } : failed("TIMEOUT"));
      expect(stdout).toMatch(/beat/);
      const heard = guest.heard.length;
      await sleep(200);
      expect(guest.heard).toHaveLength(heard);
    },
  );

  it("nothing is left when it has been given back", async () => {
    const guest = await start('console.log("on"); await tools.x.a({})');
    await guest.nextCall();
    await guest.lease.release();
    expect((await guest.running.outcome).kind).toBe("cancelled");
  });
}

export function bash(start: Start): void {
  const script = { language: "BASH" as const };

  it("calls from a pipe, a subshell and the background get their own outcomes", async () => {
    const guest = await start(
      `a=$(tool x.a '{"n":1}'); echo '{"n":2}' | tool x.b - | cat; (tool x.c) & wait; echo "$a" >"$AIRLOCK_OUTPUT"`,
      { ...script, onCall: (call, guest) => guest.give(call, [call.path, JSON.parse(call.input)]) },
    );
    const ran = await guest.ended();
    expect(ran).toMatchObject({
      outcome: { ...returned(["x.a", { n: 1 }]), exitCode: 0 },
      stdout: '["x.b",{"n":2}]\n["x.c",{}]\n',
    });
  });

  it("a call that fails says why, and the script may go on", async () => {
    const guest = await start("tool mail.send || echo code $?", script);
    guest.refuse(await guest.nextCall(), "APPROVAL_DENIED", "no");
    expect(await guest.ended()).toMatchObject({ stdout: "code 1\n", stderr: "APPROVAL_DENIED: no\n" });
  });

  it("it is idle when all of it waits, and not while something sleeps or works", async () => {
    const guest = await start("(sleep 0.5; tool x.late) & tool x.a | cat & wait", script);
    const calls = [await guest.nextCall()];
    await guest.nextIdle();
    calls.push(await guest.nextCall());
    expect(guest.heard.map(([kind]) => kind)).toEqual(["call", "call", "idle"]);
    for (const call of calls) guest.give(call, 1);
    expect((await guest.ended()).outcome.kind).toBe("returned");
  });

  it("it is parked and run again, with its background jobs in any order", async () => {
    const code = "tool x.a & tool x.b & wait; tool x.c";
    const first = await start(code, script);
    await first.nextCall();
    await first.nextCall();
    expect(await first.park(await first.nextIdle())).toBeNull();
    const again = await start(code, { ...script, live: false });
    for (const call of [await again.nextCall(), await again.nextCall()]) again.give(call, call.path);
    again.running.goLive();
    again.give(await again.nextCall(), "c");
    expect((await again.ended()).stdout.split("\n").toSorted()).toEqual(["", '"c"', '"x.a"', '"x.b"']);
  });

  it("its exit code is told", async () => {
    const guest = await start("exit 7", script);
    expect((await guest.ended()).outcome).toMatchObject({ ...failed("GUEST_ERROR", /7/), exitCode: 7 });
  });
}
