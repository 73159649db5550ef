import type { Logger } from "@airlock/shared/runtime";
import { createGatherer } from "./gatherer.ts";
import { Pull } from "./pull.ts";

/** What one subscriber has been shown, and what it is to be shown next. */
export interface Follower<Row extends object, News> {
  readonly projectId: string;
  note(news: News): void;
  /** Something may have been missed: it compares with Postgres. */
  doubt(): void;
  next(): Promise<Row | undefined>;
}

export interface Followers<Row extends object, News> {
  add(follower: Follower<Row, News>): Pull<Row>;
  remove(follower: Follower<Row, News>): void;
  /** The projects that somebody follows. */
  projects(): Set<string>;
  tell(projectId: string, news: News): void;
  /** Tasks that have new events. */
  hint(taskIds: readonly string[]): void;
  /** Each compares with Postgres: hints can be lost. */
  check(): void;
}

/** The subscribers of one kind, each of which is told what `find` knows of its project's tasks that have news. */
export function createFollowers<Row extends object, News>(parts: {
  log: Logger;
  find: (projectIds: readonly string[], taskIds: readonly string[]) => Promise<{ projectId: string; news: News }[]>;
  /** Where something may have been missed; each follower compares for itself where it is absent. */
  check?: () => void;
}): Followers<Row, News> {
  const { log, find } = parts;
  const followers = new Map<Follower<Row, News>, Pull<Row>>();

  const gatherer = createGatherer({
    log,
    onFlood: parts.check ?? check,
    look: async (taskIds) => {
      const followed = projects();
      if (followed.size === 0) return;
      for (const { projectId, news } of await find([...followed], taskIds)) tell(projectId, news);
    },
  });

  const projects = (): Set<string> => new Set([...followers.keys()].map((follower) => follower.projectId));

  function tell(projectId: string, news: News): void {
    for (const [follower, pull] of followers) {
      if (follower.projectId !== projectId) continue;
      follower.note(news);
      pull.wake();
    }
  }

  function check(): void {
    for (const [follower, pull] of followers) {
      follower.doubt();
      pull.wake();
    }
  }

  return {
    add(follower) {
      const pull = new Pull({
        produce: () => follower.next(),
        onEnd: () => followers.delete(follower),
        onError: (error) => {
          follower.doubt();
          log.warn({ err: error }, "could not read what a stream shows; trying again");
        },
      });
      followers.set(follower, pull);
      return pull;
    },
    remove: (follower) => void followers.delete(follower),
    projects,
    tell,
    hint(taskIds) {
      if (followers.size > 0) gatherer.add(taskIds);
    },
    check,
  };
}
