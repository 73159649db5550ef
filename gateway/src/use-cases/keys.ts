import { randomBytes } from "node:crypto";
import { isId, topics } from "@airlock/shared/contracts";
import {
  type ApiKeyRow,
  audit,
  type Caller,
  findProject,
  insertApiKey,
  insertProject,
  type ProjectRow,
  revokeApiKey as revokeKeyRow,
  SCOPES,
} from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";
import type { App } from "../context.ts";
import { hashKey } from "../http/key-hash.ts";
import { notFound } from "./not-found.ts";
import { requireName } from "./texts.ts";

export async function createProject(
  app: App,
  caller: Caller,
  { name, selfApproval }: { name: string; selfApproval?: boolean | null | undefined },
): Promise<ProjectRow> {
  if (!caller.bootstrap) {
    throw new ApiError("FORBIDDEN", "only an admin key of the default project can make projects; use such a key");
  }
  requireName("name", name);
  return app.db.transaction().execute(async (tx) => {
    const project = await insertProject(tx, name, selfApproval ?? false);
    const data = { name, selfApproval: project.self_approval };
    await audit(tx, { ...by(caller, project.id), action: "project.created", subject: project.id, data });
    return project;
  });
}

export interface NewKey {
  readonly projectId?: string | null | undefined;
  readonly name: string;
  readonly scopes: readonly string[];
}

/** The secret is in the answer and nowhere else: the database has its hash. */
export async function createApiKey(app: App, caller: Caller, key: NewKey): Promise<ApiKeyRow & { secret: string }> {
  const name = requireName("name", key.name);
  const scopes = requireScopes(key.scopes);
  const projectId = await reachableProject(app, caller, key.projectId ?? caller.projectId);
  const secret = `alk_${randomBytes(32).toString("base64url")}`;
  const row = await app.db.transaction().execute(async (tx) => {
    const created = await insertApiKey(tx, { projectId, name, scopes, hash: hashKey(secret) });
    const data = { name, scopes };
    await audit(tx, { ...by(caller, projectId), action: "api_key.created", subject: created.id, data });
    return created;
  });
  return { ...row, secret };
}

/** Works at once here, and within a message's travel on every other gateway. Revoking twice is no change. */
export async function revokeApiKey(app: App, caller: Caller, id: string): Promise<ApiKeyRow> {
  if (!isId(id)) throw notFound("API key");
  const row = await app.db.transaction().execute(async (tx) => {
    const revoked = await revokeKeyRow(tx, id, caller.bootstrap ? null : caller.projectId);
    if (revoked === null) throw notFound("API key");
    await audit(tx, { ...by(caller, revoked.project_id), action: "api_key.revoked", subject: id });
    return revoked;
  });
  app.forgetKeys([row.id]);
  try {
    await app.bus.publish(topics.revoked, [row.id]);
  } catch (error) {
    app.log.warn(
      { err: error, keyId: row.id },
      "could not tell the other gateways about a revoked key; their caches lapse",
    );
  }
  return row;
}

function by(caller: Caller, projectId: string): { actor: string; projectId: string } {
  return { actor: `key:${caller.keyId}`, projectId };
}

async function reachableProject(app: App, caller: Caller, id: string): Promise<string> {
  if (id === caller.projectId) return id;
  const project = caller.bootstrap && isId(id) ? await findProject(app.db, id) : null;
  if (project === null) throw notFound("project");
  return project.id;
}

function requireScopes(scopes: readonly string[]): string[] {
  const unknown = scopes.filter((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown.length > 0 || scopes.length === 0) {
    const what = unknown.length > 0 ? `${JSON.stringify(unknown[0])?.slice(0, 60)} is not a scope` : "is empty";
    throw new ApiError("BAD_INPUT", `scopes: ${what}; give one or more of: ${SCOPES.join(", ")}`);
  }
  return [...new Set(scopes)];
}
