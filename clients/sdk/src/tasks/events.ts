import { ConnectionError } from "../errors.ts";
import { FollowTaskEvents, PageTaskEvents, type TaskEvent } from "../generated.ts";
import { reconnecting } from "../stream/reconnect.ts";
import { ALIVE } from "../stream/subscribe.ts";
import type { Transport } from "../transport.ts";
import { hasEnded, isLastEvent } from "./status.ts";

export interface EventOptions {
  /** Events up to this seq are left out (0: none are). */
  readonly after?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Each event after the cursor once, in order, whatever happens to the connection; ends after the task's last one. */
export function followTaskEvents(transport: Transport, id: string, options: EventOptions): AsyncIterable<TaskEvent> {
  const { after = 0, signal } = options;
  let cursor = after;

  async function* connect(): AsyncGenerator<TaskEvent | typeof ALIVE, void> {
    for await (const message of transport.subscribe(FollowTaskEvents, { id, after: cursor }, signal)) {
      if (message === ALIVE) yield ALIVE;
      else if (isNext(message.taskEvents, cursor)) {
        cursor = message.taskEvents.seq;
        yield message.taskEvents;
        if (isLastEvent(message.taskEvents.type)) return;
      }
    }
    if (!(await isOver(transport, id, cursor, signal))) {
      throw new ConnectionError("UNREACHABLE", "the gateway called the stream complete before the task's last event");
    }
  }

  return reconnecting(connect, transport.patience, signal);
}

/** False for a repeat. A gap is a connection that lost something: the next one begins at the cursor. */
function isNext({ seq }: TaskEvent, cursor: number): boolean {
  if (!Number.isInteger(seq) || seq > cursor + 1) {
    throw new ConnectionError("UNREACHABLE", `event ${seq} came after event ${cursor}`);
  }
  return seq === cursor + 1;
}

/** A gateway that shuts down may call its streams complete as well. */
async function isOver(transport: Transport, id: string, cursor: number, signal?: AbortSignal): Promise<boolean> {
  const { task } = await transport.patiently(PageTaskEvents, { id, after: cursor, first: 1 }, { signal });
  return task === null || (hasEnded(task.status) && task.events.length === 0);
}
