import { setTimeout as sleep } from "node:timers/promises";
import {
  type Database,
  findTasks,
  findTaskStates,
  listTaskStates,
  matchingTaskStates,
  type TaskFilter,
  type TaskRow,
  tasksAmong,
  type TaskState,
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
/** Between two looks: a task that changes all the time is shown a few times a second. */
const GAP_MS = 250;
/** Whole tasks in memory at a time, which may have megabytes each. */
const CHUNK = 10;

/** What one subscriber has been shown. One that falls behind is shown the newest tasks, as its list would. */
class TaskFollower implements Follower<TaskRow, string> {
  readonly projectId: string;
  readonly #db: Database;
  readonly #filter: TaskFilter;
  readonly #noted = new Set<string>();
  readonly #shown = new Map<string, string>();
  /** Those that have changed; each is read as a whole when the ones before have been taken. */
  readonly #changed: string[] = [];
  #toShow: TaskRow[] = [];
  #lookedAt = 0;
  #inDoubt = false;

  constructor(db: Database, projectId: string, filter: TaskFilter) {
    this.#db = db;
    this.projectId = projectId;
    this.#filter = filter;
  }

  /** What is there at the start is not news, but may have been asked for. */
  async begin(latest: number): Promise<void> {
    const newest = await this.#newest();
    for (const task of newest.slice(latest)) this.#remember(task);
    this.#changed.push(...newest.slice(0, latest).map(({ id }) => id));
    this.#changed.reverse();
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
      if (this.#changed.length > 0) await this.#readChanged();
      else if (this.#inDoubt || this.#noted.size > 0) await this.#look();
      else return undefined;
    }
    return this.#toShow.shift();
  }

  async #look(): Promise<void> {
    await sleep(Math.max(0, this.#lookedAt + GAP_MS - performance.now()));
    const states = this.#inDoubt ? await this.#statesOfNewest() : await this.#statesOfNoted();
    this.#changed.push(...states.filter((task) => this.#isNews(task)).map(({ id }) => id));
    this.#lookedAt = performance.now();
  }

  async #statesOfNewest(): Promise<TaskState[]> {
    this.#inDoubt = false;
    return this.#andOfShown(await this.#newest(), [...this.#shown.keys()]);
  }

  async #statesOfNoted(): Promise<TaskState[]> {
    const ids = [...this.#noted];
    this.#noted.clear();
    const matching = await matchingTaskStates(this.#db, this.projectId, this.#filter, ids);
    const shown = ids.filter((id) => this.#shown.has(id));
    return this.#andOfShown(matching, shown);
  }

  /** Those that were shown and are not among the ones that match may still do, or be news for the last time. */
  async #andOfShown(matching: TaskState[], shown: readonly string[]): Promise<TaskState[]> {
    const matched = new Set(matching.map(({ id }) => id));
    const others = shown.filter((id) => !matched.has(id));
    if (others.length === 0) return matching;
    return [...matching, ...(await findTaskStates(this.#db, this.projectId, others))];
  }

  async #newest(): Promise<TaskState[]> {
    const { rows } = await listTaskStates(this.#db, this.projectId, this.#filter, { limit: FIRST_PAGE, after: null });
    return rows;
  }

  async #readChanged(): Promise<void> {
    const ids = this.#changed.slice(0, CHUNK);
    const rows = await findTasks(this.#db, this.projectId, ids);
    this.#changed.splice(0, ids.length);
    this.#toShow = rows.filter((task) => task !== null).filter((task) => this.#isNews(task));
    for (const task of this.#toShow) this.#remember(task);
  }

  #isNews(task: TaskState): boolean {
    return this.#shown.get(task.id) !== stateOf(task);
  }

  #remember(task: TaskState): void {
    this.#shown.delete(task.id);
    this.#shown.set(task.id, stateOf(task));
    if (this.#shown.size > MAX_SHOWN) this.#shown.delete(this.#shown.keys().next().value as string);
  }
}

const stateOf = ({ status, segments }: TaskState): string => `${status}/${segments}`;
