import {
  type ApprovalRow,
  type Asked,
  type Caller,
  type Decidable,
  findAsked,
  findDecidable,
} from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import type { ReadyDecision } from "../../decisions.ts";
import { checkDecision } from "./check-decision.ts";
import { lostFault } from "./conflict.ts";
import { type DecisionInput, isEdited } from "./decision-input.ts";
import { decidedRow } from "./ready-decision.ts";
import { rememberFaults } from "./remember.ts";

export interface Item {
  readonly given: DecisionInput;
  readonly row: Decidable | null;
}

/** Either an approval or a fault. */
export interface DecisionResult {
  readonly id: string;
  readonly approval: ApprovalRow | null;
  readonly fault: ApiError | null;
}

/** The answers in the order of the items, and the patterns of the policies that are remembered. */
export async function decideChunk(
  app: App,
  caller: Caller,
  items: readonly Item[],
): Promise<{ results: DecisionResult[]; patterns: string[] }> {
  const asked = await askedOf(app, items);
  const checked = await refuseForgotten(
    app,
    items.map(({ given, row }) => checkDecision(caller, given, row, asked.get(row?.id ?? "") ?? null)),
  );
  const ready = checked.filter((decision): decision is ReadyDecision => !(decision instanceof ApiError));
  const { ids, at } = await app.decisions.many(ready);
  const lost = await readAgain(
    app,
    ready.filter(({ outcome }) => !ids.has(outcome.id)),
  );
  const results = items.map(({ given, row }, place): DecisionResult => {
    const decision = checked[place] as Checked;
    if (decision instanceof ApiError) return { id: given.id, approval: null, fault: decision };
    if (row === null || at === null || !ids.has(row.id)) {
      return { id: given.id, approval: null, fault: lostFault(lost.get(decision.outcome.id) ?? null) };
    }
    return { id: given.id, approval: decidedRow(row, decision, at), fault: null };
  });
  const patterns = ready.flatMap(({ outcome, consequence: { policy } }) =>
    policy !== null && ids.has(outcome.id) ? [policy.pattern] : [],
  );
  return { results, patterns };
}

type Checked = ReadyDecision | ApiError;

async function refuseForgotten(app: App, checked: readonly Checked[]): Promise<Checked[]> {
  const ready = checked.filter((decision): decision is ReadyDecision => !(decision instanceof ApiError));
  const faults = await rememberFaults(app.db, ready);
  return checked.map((decision) => (decision instanceof ApiError ? decision : (faults.get(decision) ?? decision)));
}

async function askedOf(app: App, items: readonly Item[]): Promise<Map<string, Asked>> {
  const edited = items.flatMap(({ given, row }) => (row !== null && isEdited(given) ? [row.id] : []));
  return edited.length === 0 ? new Map() : findAsked(app.db, edited);
}

async function readAgain(app: App, lost: readonly ReadyDecision[]): Promise<Map<string, Decidable | null>> {
  if (lost.length === 0) return new Map();
  const ids = lost.map(({ outcome }) => outcome.id);
  const rows = await findDecidable(app.db, ids);
  return new Map(ids.map((id, place) => [id, rows[place] ?? null]));
}
