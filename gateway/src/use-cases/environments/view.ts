import { type Caller, type EnvironmentRow, findEnvironment, listEnvironments } from "@airlock/shared/db";
import {
  BUILT_IN_ENVIRONMENTS,
  builtInDefinition,
  DEFAULT_ENVIRONMENT,
  type EnvironmentDefinition,
  type EnvironmentSource,
} from "@airlock/shared/domain";
import type { App } from "../../context.ts";
import { unstorable } from "../texts.ts";

/** An environment as callers see it, built-in or the project's own. */
export interface EnvironmentView {
  readonly name: string;
  readonly source: EnvironmentSource;
  readonly active: boolean;
  /** Null: a built-in one, which has but one. */
  readonly revision: number | null;
  readonly updatedAt: Date | null;
  readonly isDefault: boolean;
  readonly definition: EnvironmentDefinition;
}

/** The built-in ones first, then the project's own by name. */
export async function listEnvironmentViews(app: App, caller: Caller): Promise<EnvironmentView[]> {
  const [own, standard] = await Promise.all([listEnvironments(app.db, caller.projectId), defaultOf(app, caller)]);
  const names = new Set(own.map(({ name }) => name));
  const builtIn = BUILT_IN_ENVIRONMENTS.filter(({ name }) => !names.has(name)).map(({ name }) =>
    builtInView(name, standard),
  );
  return [...builtIn.filter((view) => view !== null), ...own.map((row) => viewOf(row, standard))];
}

export async function findEnvironmentView(app: App, caller: Caller, name: string): Promise<EnvironmentView | null> {
  if (unstorable(name) !== null) return null;
  const [own, standard] = await Promise.all([findEnvironment(app.db, caller.projectId, name), defaultOf(app, caller)]);
  return own === null ? builtInView(name, standard) : viewOf(own, standard);
}

/** For the answer to a change. */
export async function viewOfChanged(app: App, caller: Caller, row: EnvironmentRow): Promise<EnvironmentView> {
  return viewOf(row, await defaultOf(app, caller));
}

async function defaultOf(app: App, { projectId }: Caller): Promise<string> {
  return (await app.environments.of(projectId)).default ?? DEFAULT_ENVIRONMENT;
}

function viewOf(row: EnvironmentRow, standard: string): EnvironmentView {
  const { name, source, active, revision, definition } = row;
  return { name, source, active, revision, definition, updatedAt: row.updated_at, isDefault: name === standard };
}

function builtInView(name: string, standard: string): EnvironmentView | null {
  const definition = builtInDefinition(name);
  if (definition === null) return null;
  const isDefault = name === standard;
  return { name, source: "BUILT_IN", active: true, revision: null, updatedAt: null, isDefault, definition };
}
