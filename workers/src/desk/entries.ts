import { newEvent, newId, type NewEvent } from "@airlock/shared/contracts";
import type { CallUpdate, NewApproval, NewCall } from "@airlock/shared/db";
import type { ApprovalKind, PolicyMode, ToolCallStatus } from "@airlock/shared/domain";
import type { JournalEntry } from "../runner/recorder.ts";
import type { CallResult } from "../sandboxes/port.ts";

/** What the journal says of a call whatever its state. */
export interface CallFacts {
  readonly index: number;
  readonly path: string;
  readonly sent: string;
  readonly input: string | null;
  readonly inputHash: Buffer;
  readonly version: string;
  /** It is in the journal already. */
  readonly journaled: boolean;
}

/** What becomes of a call. */
export interface Change {
  readonly status: ToolCallStatus;
  readonly approval?: NewApproval;
  readonly wakeAt?: Date;
  readonly startedAt?: Date;
  readonly result?: { readonly result: CallResult; readonly at: Date };
  /** The name of the file that its outcome brought with it. */
  readonly artifact?: string;
}

/** The entry that takes a call into a state: a new row, or a change to the one that is there. */
export function callEntry(facts: CallFacts, change: Change): JournalEntry {
  const { index, path } = facts;
  const { approval, result } = change;
  const outcome = {
    status: change.status,
    approvalId: approval?.id ?? null,
    wakeAt: change.wakeAt ?? null,
    output: result?.result.ok === true ? result.result.value : null,
    errorCode: result?.result.ok === false ? result.result.code : null,
    errorMessage: result?.result.ok === false ? result.result.message : null,
    startedAt: change.startedAt ?? null,
    finishedAt: result?.at ?? null,
    completion: result === undefined ? null : 1,
  };
  const events = [
    ...(facts.journaled ? [] : [newEvent("tool.called", { index, path })]),
    ...(approval ? [newEvent("approval.requested", { approvalId: approval.id, index })] : []),
    ...(change.artifact === undefined ? [] : [newEvent("artifact.added", { name: change.artifact })]),
    ...(result ? endEventsOf(facts, result.result) : []),
  ];
  const { sent, input, inputHash, version } = facts;
  const row: { call: NewCall } | { update: CallUpdate } = facts.journaled
    ? { update: { index, input, inputHash, version, ...outcome } }
    : { call: { index, path, sent, input, inputHash, version, ...outcome } };
  return { events, ...row, ...(approval && { approval }) };
}

function endEventsOf({ index, path }: CallFacts, result: CallResult): NewEvent[] {
  if (!result.ok) return [newEvent("tool.failed", { index, code: result.code })];
  const done = newEvent("tool.completed", { index });
  if (path !== "artifacts.put") return [done];
  const { name } = JSON.parse(result.value ?? "{}") as { name?: string };
  return [newEvent("artifact.added", { name: name ?? "" }), done];
}

/** What a person is asked. */
export interface Ask {
  readonly kind: ApprovalKind;
  readonly defaultMode: PolicyMode;
  readonly expiresInMs: number;
  /** Absent: the call's own. */
  readonly inputHash?: Buffer;
  readonly editedInput?: string;
}

export function newApproval(facts: CallFacts, ask: Ask): NewApproval {
  return {
    id: newId(),
    callIndex: facts.index,
    kind: ask.kind,
    path: facts.path,
    version: facts.version,
    defaultMode: ask.defaultMode,
    inputHash: ask.inputHash ?? facts.inputHash,
    editedInput: ask.editedInput ?? null,
    expiresInMs: ask.expiresInMs,
  };
}

const STATUS_OF_CODE: Partial<Record<string, ToolCallStatus>> = {
  TOOL_DENIED: "DENIED",
  APPROVAL_DENIED: "DENIED",
  APPROVAL_EXPIRED: "EXPIRED",
};

/** The state of a call with this result. */
export function statusOf(result: CallResult): ToolCallStatus {
  return result.ok ? "SUCCEEDED" : (STATUS_OF_CODE[result.code] ?? "FAILED");
}
