import { findLock, pinProvision, type ClaimedTask, type Database } from "@airlock/shared/db";
import { canonicalDependencies, type Dependencies, NPM_LANGUAGES, type TaskFailure } from "@airlock/shared/domain";
import type { Logger } from "@airlock/shared/runtime";
import type { SandboxPlan } from "../leasing/task-environments.ts";
import { untilDone } from "../runner/retry.ts";
import type { Layer, SandboxProvider } from "../sandboxes/port.ts";
import { ProvisionError, UnfitTree } from "./failures.ts";
import { createGit, type GitOptions, type Repository } from "./git.ts";
import { createLayerStore, type LayerStoreOptions, type TakenLayer } from "./layer-store.ts";
import { createNpm, hashOf, type NpmOptions, platform } from "./npm.ts";
import { runProvisionCommand } from "./provision-command.ts";
import { createRedactor } from "./redactor.ts";
import type { StepBounds } from "./step.ts";
import { findStepWalls, type StepWalls } from "./step-walls.ts";
import { createSteps } from "./steps.ts";
import { findBubblewrap } from "./walls.ts";

/** What a task finds in its sandbox beside its own files. */
export type Provided =
  | { readonly kind: "provided"; readonly layers: readonly Layer[]; release(): void }
  | { readonly kind: "failed"; readonly failure: TaskFailure }
  /** Somebody else owns the task now. */
  | { readonly kind: "fenced" }
  /** The signal has aborted. */
  | { readonly kind: "stopped" };

export interface Provisioning {
  /** Pins what the task's re-runs need to get the same. A task without such wishes costs nothing. */
  provide(
    provider: SandboxProvider,
    task: ClaimedTask,
    plan: SandboxPlan,
    signal: AbortSignal,
  ): Promise<Provided> | Provided;
  close(): Promise<void>;
}

export interface ProvisioningOptions
  extends
    Pick<LayerStoreOptions, "folder" | "maxBytes">,
    Pick<NpmOptions, "registry" | "userConfig">,
    Pick<GitOptions, "credentials" | "secrets" | "allowPrivate"> {
  readonly db: Database;
  readonly log: Logger;
  /** Of one step. */
  readonly bounds: StepBounds;
  /** Whether the commands of environments are run here. */
  readonly commands: boolean;
  /** What must never be seen in a message. */
  readonly redacted: Iterable<string>;
  /** Absent: looked for. Null: none. */
  readonly bubblewrap?: string | null;
}

const NOTHING: Provided = { kind: "provided", layers: [], release: () => undefined };
const MODULES = "/work/node_modules";
const WORK_AREA = "/work";
const MAX_ENTRIES = 500_000;
/** What is made for a task, and how it is told that it could not be. */
const MADE = {
  dependencies: {
    code: "PROVISION_FAILED",
    tooMuch: "the dependencies are too much",
    failed: "the dependencies could not be installed",
  },
  repository: {
    code: "WORKSPACE_FAILED",
    tooMuch: "the repository is too much",
    failed: "the repository could not be cloned",
  },
  command: {
    code: "PROVISION_FAILED",
    tooMuch: "what the provision command left is too much",
    failed: "the provision command failed",
  },
} as const;

/** What a task wishes for. */
interface Wishes {
  /** Sorted by name. */
  readonly dependencies: Dependencies | null;
  readonly repository: Repository | null;
  readonly command: string | null;
}

interface Pins {
  readonly lock: string | null;
  readonly commit: string | null;
}

export function createProvisioning(options: ProvisioningOptions): Provisioning {
  const { db, log, bounds, registry } = options;
  const { bubblewrap = findBubblewrap() } = options;
  const steps = createSteps(bounds, wallsWith(bubblewrap), createRedactor(options.redacted));
  const layers = createLayerStore({ ...options, bounds: { bytes: bounds.bytes, entries: MAX_ENTRIES } });
  const npm = createNpm({ ...options, layers, steps });
  const git = createGit({ ...options, steps });

  /** What nobody expected is told by its code alone: the message may hold what is this machine's. */
  function told<T>(what: keyof typeof MADE, asked: Promise<T>, signal: AbortSignal): Promise<T> {
    return asked.catch((error: unknown) => {
      if (signal.aborted || error instanceof ProvisionError) throw error;
      const { code, tooMuch, failed } = MADE[what];
      if (error instanceof UnfitTree) throw new ProvisionError(code, `${tooMuch}: ${error.message}`);
      log.error({ err: error }, failed);
      const fault = (error as NodeJS.ErrnoException | null)?.code;
      const why = fault === undefined ? "a fault of the worker" : `a fault of the worker (${fault})`;
      throw new ProvisionError(code, `${failed}: ${why}`, { cause: error });
    });
  }

  async function pin(task: ClaimedTask, wishes: Wishes, signal: AbortSignal): Promise<Pins | null> {
    const { dependencies, repository } = wishes;
    const onFailure = (error: unknown) => log.warn({ err: error, task: task.id }, "a lock is not known yet");
    const { lock_hash, commit_hash } = task;
    const pinned = lock_hash === null ? null : await untilDone(() => findLock(db, lock_hash), onFailure);
    const [lock, commit] = await Promise.all([
      dependencies === null ? null : (pinned ?? told("dependencies", npm.resolve(dependencies, signal), signal)),
      repository === null
        ? null
        : (commit_hash ??
          told(
            "repository",
            layers.within((folder) => git.resolve(repository, folder, signal)),
            signal,
          )),
    ]);
    if ((lock === null || pinned !== null) && (commit === null || commit_hash !== null)) return { lock, commit };
    const owner = { taskId: task.id, fence: task.segments };
    return (await untilDone(() => pinProvision(db, owner, { lock, commit }), onFailure)) ? { lock, commit } : null;
  }

  function clone(repository: Repository, commit: string, projectId: string, signal: AbortSignal): Promise<TakenLayer> {
    // What one project's credential has fetched is no other's.
    const key = `git-${hashOf([projectId, repository.url, repository.credential, commit])}`;
    return layers.take(key, (folder, stop) => git.checkOut(repository, commit, folder, stop), signal);
  }

  async function prepare(
    command: string,
    owner: { readonly task: ClaimedTask; readonly plan: SandboxPlan },
    { lock, commit }: Pins,
    parts: { readonly files: string | null; readonly modules: string | null },
    signal: AbortSignal,
  ): Promise<TakenLayer> {
    const { environmentId, revision } = owner.plan;
    if (!options.commands) {
      const message = "this worker runs no provision commands: its operator has turned them off";
      throw new ProvisionError("PROVISION_FAILED", message);
    }
    const key = `made-${hashOf([environmentId, revision, commit, lock, platform()])}`;
    const build = (folder: string, stop: AbortSignal) =>
      runProvisionCommand({ command, ...parts, registry }, steps, folder, stop);
    return layers.take(key, build, signal);
  }

  async function provide(task: ClaimedTask, plan: SandboxPlan, wishes: Wishes, signal: AbortSignal): Promise<Provided> {
    const { dependencies, repository, command } = wishes;
    const taken: TakenLayer[] = [];
    const release = (): void => taken.forEach((layer) => layer.release());
    const take = async (what: keyof typeof MADE, asked: Promise<TakenLayer>): Promise<string> => {
      const layer = await told(what, asked, signal);
      taken.push(layer);
      return layer.path;
    };
    try {
      const pins = await pin(task, wishes, signal);
      if (pins === null) return { kind: "fenced" };
      const { lock, commit } = pins;
      const modules =
        dependencies === null || lock === null
          ? null
          : await take("dependencies", npm.install(dependencies, lock, signal));
      const cloned =
        repository === null || commit === null
          ? null
          : await take("repository", clone(repository, commit, task.project_id, signal));
      const files =
        command === null
          ? cloned
          : await take("command", prepare(command, { task, plan }, pins, { files: cloned, modules }, signal));
      const found: Layer[] = [];
      if (files !== null) found.push({ source: files, target: WORK_AREA });
      if (modules !== null) found.push({ source: modules, target: MODULES });
      return { kind: "provided", layers: found, release };
    } catch (error) {
      release();
      if (signal.aborted) return { kind: "stopped" };
      if (!(error instanceof ProvisionError)) throw error;
      return { kind: "failed", failure: error.failure };
    }
  }

  return {
    provide(provider, task, plan, signal) {
      const wishes = wishesOf(task, plan);
      if (wishes === null) return NOTHING;
      if (provider.capabilities.workArea) return provide(task, plan, wishes, signal);
      const message = `the environment "${task.environment}" has no work area, so it takes no dependencies`;
      return { kind: "failed", failure: { code: "UNSUPPORTED_ENVIRONMENT", message } };
    },
    close: () => layers.close(),
  };
}

async function wallsWith(bubblewrap: string | null | Promise<string | null>): Promise<StepWalls> {
  const walls = findStepWalls(await bubblewrap);
  // Where nothing is provided nobody asks.
  walls.catch(() => undefined);
  return walls;
}

/** Null: for nothing. The task's own range of a package stands above the environment's. */
function wishesOf({ dependencies, language }: ClaimedTask, { definition }: SandboxPlan): Wishes | null {
  if (definition === null && dependencies === null) return null;
  const own = JSON.parse(dependencies ?? "{}") as Dependencies;
  const all = NPM_LANGUAGES.includes(language) ? { ...definition?.dependencies, ...own } : {};
  const text = canonicalDependencies(all);
  const { repository = null, provision: command = null } = definition ?? {};
  if (text === null && repository === null && command === null) return null;
  return { dependencies: text === null ? null : (JSON.parse(text) as Dependencies), repository, command };
}
