import { isId } from "@airlock/shared/contracts";
import {
  type Caller,
  CHUNK,
  cut,
  type Decidable,
  findDecidable,
  findPending,
  type PendingFilter,
} from "@airlock/shared/db";
import { ApiError, DECISION_LIMITS, type Decision } from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { unstorable } from "../texts.ts";
import { decideChunk, type DecisionResult, type Item } from "./decide-chunk.ts";
import { type DecisionInput, reasonFault } from "./decision-input.ts";
import { rejudgeProject } from "./rejudge.ts";

export interface FilterInput {
  readonly batch?: string | null | undefined;
  readonly toolPath?: string | null | undefined;
  readonly inputHash?: string | null | undefined;
}

export interface ManyInput {
  readonly inputs?: readonly DecisionInput[] | null | undefined;
  readonly filter?: FilterInput | null | undefined;
  readonly decision?: Decision | null | undefined;
  readonly reason?: string | null | undefined;
}

/** Each gets its own answer, in the order of the inputs or, by a filter, the oldest first. */
export async function decideApprovals(app: App, caller: Caller, given: ManyInput): Promise<DecisionResult[]> {
  const { inputs, filter, decision } = given;
  const fault = reasonFault(given.reason);
  if (fault !== null) throw fault;
  if (inputs && !filter) return decideInputs(app, caller, withDefaults(inputs, given));
  if (filter && !inputs && decision) return decideMatching(app, caller, filter, { decision, reason: given.reason });
  throw new ApiError("BAD_INPUT", "give either `inputs`, or `filter` with `decision`");
}

function withDefaults(inputs: readonly DecisionInput[], { decision, reason }: ManyInput): DecisionInput[] {
  const { decisions } = DECISION_LIMITS;
  if (inputs.length > decisions) {
    throw new ApiError("TOO_LARGE", `inputs: has ${inputs.length} items; at most ${decisions} are decided at once`);
  }
  if (decision && inputs.some((input) => input.decision !== decision)) {
    throw new ApiError("BAD_INPUT", "decision: says otherwise than one of the inputs; leave it out");
  }
  return inputs.map((input) => ({ ...input, reason: input.reason ?? reason }));
}

async function decideInputs(app: App, caller: Caller, inputs: readonly DecisionInput[]): Promise<DecisionResult[]> {
  const firsts = new Map(inputs.toReversed().map((input) => [input.id.toLowerCase(), input]));
  const unique = inputs.filter((input) => firsts.get(input.id.toLowerCase()) === input);
  const decided = await decideAll(app, caller, unique, async (chunk) => {
    const known = chunk.filter((input) => isId(input.id));
    const rows = await findDecidable(
      app.db,
      known.map((input) => input.id),
    );
    const byInput = new Map(known.map((input, place) => [input, rows[place] ?? null]));
    return chunk.map((input) => ({ given: input, row: byInput.get(input) ?? null }));
  });
  const results = new Map(unique.map((input, place) => [input, decided[place] as DecisionResult]));
  return inputs.map((input) => results.get(input) ?? { id: input.id, approval: null, fault: repeated() });
}

function repeated(): ApiError {
  return new ApiError("CONFLICT", "id: is there more than once; the first decision counts");
}

async function decideMatching(
  app: App,
  caller: Caller,
  filter: FilterInput,
  said: Pick<DecisionInput, "decision" | "reason">,
): Promise<DecisionResult[]> {
  const wanted = readFilter(filter);
  const rows = wanted === null ? [] : await findPending(app.db, caller.projectId, wanted, DECISION_LIMITS.decisions);
  // Bound to what each shows now: one that changes meanwhile is not decided.
  const toItem = (row: Decidable): Item => ({
    given: { ...said, id: row.id, inputHash: row.input_hash.toString("hex") },
    row,
  });
  return decideAll(app, caller, rows, (chunk) => Promise.resolve(chunk.map(toItem)));
}

/** Null where nothing can match. */
function readFilter(given: FilterInput): PendingFilter | null {
  const [batch, toolPath, inputHash] = [given.batch ?? null, given.toolPath ?? null, given.inputHash ?? null];
  if (batch !== null && !isId(batch)) return null;
  if (toolPath !== null && unstorable(toolPath) !== null) return null;
  if (inputHash !== null && !/^[0-9a-f]{64}$/i.test(inputHash)) return null;
  return { batch, toolPath, inputHash };
}

/** One statement a chunk, so that the first tasks wake while the rest are still being settled. */
async function decideAll<T extends { readonly id: string }>(
  app: App,
  caller: Caller,
  all: readonly T[],
  toItems: (chunk: readonly T[]) => Promise<Item[]>,
): Promise<DecisionResult[]> {
  const results: DecisionResult[] = [];
  const remembered = new Set<string>();
  for (const chunk of cut(all, CHUNK)) {
    try {
      const { results: decided, patterns } = await decideChunk(app, caller, await toItems(chunk));
      results.push(...decided);
      for (const pattern of patterns) remembered.add(pattern);
    } catch (error) {
      // What was decided is decided: the answer has to tell it.
      if (results.length === 0) throw error;
      app.log.warn({ err: error }, "could not settle a part of many decisions");
      results.push(...chunk.map(({ id }) => ({ id, approval: null, fault: unsettled() })));
    }
  }
  if (remembered.size > 0) await rejudgeRemembered(app, caller.projectId, [...remembered]);
  return results;
}

/** After the last of them: a call that is decided itself must not be judged anew before its turn. */
async function rejudgeRemembered(app: App, projectId: string, patterns: readonly string[]): Promise<void> {
  try {
    await rejudgeProject(app, projectId, patterns);
  } catch (error) {
    app.log.warn({ err: error }, "could not judge waiting calls anew; they wait for a person as before");
  }
}

function unsettled(): ApiError {
  return new ApiError("UNAVAILABLE", "could not be settled just now; look at it again and decide once more");
}
