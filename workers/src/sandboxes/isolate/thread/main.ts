import { parentPort, workerData } from "node:worker_threads";
import type { BootImage } from "../engine/boot-image.ts";
import { Machine } from "../engine/machine.ts";
import type { EngineModules } from "../engine/modules.ts";
import { ResetPlan } from "../engine/reset-plan.ts";
import { MACHINES_PER_THREAD, type FromThread, type ThreadData, type ToThread } from "./messages.ts";
import { GuestRun } from "./guest-run.ts";
import { ProgramError, stripTypes } from "./program.ts";
import { Unsent } from "./unsent.ts";

/** The entry of a guest thread: one guest at a time, given to it only while it is idle. */

if (parentPort === null) throw new Error("this file is the entry of a thread");
const port = parentPort;
const { modules, image, cancelled, unsent: shared } = workerData as ThreadData;
const unsent = new Unsent(shared);
const plan = new ResetPlan(new Uint8Array(image.bytes).slice());
/** Machines by project, the least recently used first: no machine ever serves two projects. */
const machines = new Map<string, Machine>();
let current: GuestRun | null = null;

function machineFor(project: string, using: { modules: EngineModules; image: BootImage }): Machine {
  const kept = machines.get(project);
  machines.delete(project);
  if (kept === undefined && machines.size >= MACHINES_PER_THREAD) {
    machines.delete(machines.keys().next().value as string);
  }
  // Taken out of the map for the run: it comes back only if the run leaves it sound.
  return kept ?? new Machine(using.modules, using.image, plan);
}

/** The next guest finds it new: it is reset behind the message that ends this one. */
function keepFor(project: string, machine: Machine): void {
  machines.set(project, machine);
  setImmediate(() => {
    if (machines.get(project) === machine) machine.resetAhead();
  });
}

function send(message: FromThread): void {
  port.postMessage(message);
}

function run({ request, stripped, resumed }: Extract<ToThread, { type: "run" }>): void {
  const { id, project } = request;
  let code = stripped ?? request.code;
  let justStripped: string | undefined;
  if (request.typescript && stripped === null && request.state === null) {
    try {
      code = justStripped = stripTypes(request.code);
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      const end = { kind: "failed", code: "GUEST_ERROR", message: error.message } as const;
      send({ type: "ended", id, end, said: { chunks: [], calls: [] }, dropped: 0, stripped: undefined });
      return;
    }
  }
  const machine = machineFor(project, { modules, image });
  const guest = new GuestRun(
    machine,
    request,
    { cancelled, unsent, resumed },
    {
      output: (said) => send({ type: "output", id, said }),
      turn: (said, idle) => send({ type: "turn", id, said, ...idle }),
      ended: (end, said, dropped, sound) => {
        current = null;
        if (sound) keepFor(project, machine);
        send({ type: "ended", id, end, said, dropped, stripped: justStripped });
      },
    },
  );
  current = guest;
  if (request.state === null) guest.start(code);
  else guest.restore(Buffer.from(request.state, "base64"));
}

port.on("message", (message: ToThread) => {
  switch (message.type) {
    case "run":
      return run(message);
    case "cancel":
      return current?.cancel();
    case "settle":
      return current?.settle(message.call, message.at, message.told);
    case "tick":
      return current?.tick(message.turn);
    case "live":
      return current?.goLive();
    case "park":
      return current?.park(message.turn);
  }
});
send({ type: "online" });
