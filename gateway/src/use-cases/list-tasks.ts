import { isId } from "@airlock/shared/contracts";
import { type Caller, listTasks, type TaskFilter, type TaskRow } from "@airlock/shared/db";
import { ApiError, type TaskStatus } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { FIRST_PAGE } from "../live/task-watch.ts";
import { type Page, toPage } from "../pagination.ts";
import { Faults } from "./faults.ts";
import { readLabels } from "./labels.ts";
import { notFound } from "./not-found.ts";
import { unstorable } from "./texts.ts";

const MAX_SEARCH_CHARS = 1_000;

/** As it comes over the API; null counts as absent. */
export interface TaskFilterInput {
  readonly status?: readonly TaskStatus[] | null | undefined;
  readonly environment?: string | null | undefined;
  readonly session?: string | null | undefined;
  readonly batch?: string | null | undefined;
  readonly label?: unknown;
  readonly createdAfter?: Date | null | undefined;
  readonly createdBefore?: Date | null | undefined;
  readonly search?: string | null | undefined;
}

/** Newest first. */
export async function listProjectTasks(
  app: App,
  caller: Caller,
  given: TaskFilterInput,
  page: { size: number; after: string | null },
): Promise<Page<TaskRow>> {
  const filter = readFilter(given);
  // No task can be in a batch that cannot exist.
  if (filter.batchId !== undefined && !isId(filter.batchId)) return toPage([], page.size, page.after);
  const { rows, lookedUpTo } = await listTasks(app.db, caller.projectId, filter, {
    limit: page.size + 1,
    after: page.after,
  });
  return toPage(rows, page.size, page.after, lookedUpTo);
}

/** The latest ones that match, then each that does, when its state changes. */
export async function followTasks(
  app: App,
  caller: Caller,
  given: TaskFilterInput,
  latest: number,
): Promise<AsyncIterable<TaskRow>> {
  if (latest < 0 || latest > FIRST_PAGE) throw new ApiError("BAD_INPUT", `latest: 0 to ${FIRST_PAGE}`);
  const filter = readFilter(given);
  if (filter.batchId !== undefined && !isId(filter.batchId)) throw notFound("batch");
  return app.live.tasks.follow(caller.projectId, filter, latest);
}

function readFilter(given: TaskFilterInput): TaskFilter {
  const faults = new Faults();
  for (const field of ["environment", "session", "search"] as const) {
    const fault = unstorable(given[field] ?? "");
    if (fault !== null) faults.add(`filter.${field}`, fault);
  }
  const searchChars = given.search?.length ?? 0;
  if (searchChars > MAX_SEARCH_CHARS) {
    faults.add("filter.search", `has ${searchChars} characters; at most ${MAX_SEARCH_CHARS} are allowed`);
  }
  const labels = readLabels(given.label, "filter.label", faults);
  faults.throwIfAny();
  return {
    status: given.status ?? undefined,
    environment: given.environment ?? undefined,
    session: given.session ?? undefined,
    batchId: given.batch ?? undefined,
    labels,
    createdAfter: given.createdAfter ?? undefined,
    createdBefore: given.createdBefore ?? undefined,
    // An empty search matches everything, and would look at every row to find that out.
    search: given.search || undefined,
  };
}
