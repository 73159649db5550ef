import { setTimeout as sleep } from "node:timers/promises";
import {
  type Database,
  findTasks,
  listTasks,
  matchingTasks,
  type TaskFilter,
  type TaskRow,
  tasksAmong,
} from "@airlock/shared/db";
import type { Logger } from "@airlock/shared/runtime";
import { createFollowers, type Follower } from "./followers.ts";

export interface TaskWatch {
  /**
   * First the `latest` ones that match, the newest last; then each when its state changes, and once more when it ceases
   * to match.
   */
  follow(projectId: string, filter: TaskFilter, latest: number): Promise<AsyncIterable<TaskRow>>;
  /** Tasks that have new events. */
  hint(taskIds: readonly string[]): void;
  check(): void;
}

export function createTaskWatch({ db, log }: { db: Database; log: Logger }): TaskWatch {
  const followers = createFollowers<TaskRow, string>({
    log,
    find: async (projectIds, taskIds) => {
      const tasks = await tasksAmong(db, projectIds, taskIds);
      return tasks.map(({ id, project_id: projectId }) => ({ projectId, news: id }));
    },
  });
  return {
    async follow(projectId, filter, latest) {
      const follower = new TaskFollower(db, projectId, filter);
      const pull = followers.add(follower);
      try {
        await follower.begin(latest);
        return pull;
      } catch (error) {
        followers.remove(follower);
        throw error;
      }
    },
    hint: (taskIds) => followers.hint(taskIds),
    check: () => followers.check(),
  };
}

const MAX_NOTED = 1_000;
const MAX_SHOWN = 1_000;
/** What a list shows at first sight. */
export const FIRST_PAGE = 100;
/** Between two reads: a task that changes all the time is shown a few times a second. */
const GAP_MS = 250;

/** What one subscriber has been shown. One that falls behind is shown the newest tasks, as its list would. */
class TaskFollower implements Follower<TaskRow, string> {
  readonly projectId: string;
  readonly #db: Database;
  readonly #filter: TaskFilter;
  readonly #noted = new Set<string>();
  readonly #shown = new Map<string, string>();
  #toShow: TaskRow[] = [];
  #readAt = 0;
  #inDoubt = false;

  constructor(db: Database, projectId: string, filter: TaskFilter) {
    this.#db = db;
    this.projectId = projectId;
    this.#filter = filter;
  }

  /** What is there at the start is not news, but may have been asked for. */
  async begin(latest: number): Promise<void> {
    const newest = await this.#newest();
    for (const task of newest) this.#isNews(task);
    this.#toShow = newest.slice(0, latest).toReversed();
  }

  note(taskId: string): void {
    this.#noted.add(taskId);
    if (this.#noted.size > MAX_NOTED) this.doubt();
  }

  doubt(): void {
    this.#noted.clear();
    this.#inDoubt = true;
  }

  async next(): Promise<TaskRow | undefined> {
    while (this.#toShow.length === 0) {
      if (!this.#inDoubt && this.#noted.size === 0) return undefined;
      await sleep(Math.max(0, this.#readAt + GAP_MS - performance.now()));
      this.#toShow = this.#inDoubt ? await this.#readNewest() : await this.#readNoted();
      this.#readAt = performance.now();
    }
    return this.#toShow.shift();
  }

  async #readNewest(): Promise<TaskRow[]> {
    this.#inDoubt = false;
    const matching = await this.#newest();
    const ids = new Set(matching.map((task) => task.id));
    return this.#news(
      matching,
      [...this.#shown.keys()].filter((id) => !ids.has(id)),
    );
  }

  async #readNoted(): Promise<TaskRow[]> {
    const ids = [...this.#noted];
    this.#noted.clear();
    const matching = await matchingTasks(this.#db, this.projectId, this.#filter, ids);
    const matched = new Set(matching.map((task) => task.id));
    return this.#news(
      matching,
      ids.filter((id) => this.#shown.has(id) && !matched.has(id)),
    );
  }

  /** `others` were shown and are not among those that match; they may still do. */
  async #news(matching: readonly TaskRow[], others: readonly string[]): Promise<TaskRow[]> {
    const rows = await findTasks(this.#db, this.projectId, others);
    return [...matching, ...rows].filter((task) => task !== null).filter((task) => this.#isNews(task));
  }

  async #newest(): Promise<TaskRow[]> {
    const { rows } = await listTasks(this.#db, this.projectId, this.#filter, { limit: FIRST_PAGE, after: null });
    return rows;
  }

  #isNews({ id, status, segments }: TaskRow): boolean {
    const state = `${status}/${segments}`;
    if (this.#shown.get(id) === state) return false;
    this.#shown.delete(id);
    this.#shown.set(id, state);
    if (this.#shown.size > MAX_SHOWN) this.#shown.delete(this.#shown.keys().next().value as string);
    return true;
  }
}
