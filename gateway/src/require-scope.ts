import type { Caller, Scope } from "@airlock/shared/db";
import { ApiError } from "@airlock/shared/domain";

/** What an admin key may do includes everything else. */
export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes(scope) || caller.scopes.includes("admin");
}

export function requireScope(caller: Caller, scope: Scope): void {
  if (!hasScope(caller, scope)) throw lacksScope(scope);
}

export function lacksScope(scope: Scope): ApiError {
  return new ApiError(
    "FORBIDDEN",
    `this needs the scope "${scope}", which the API key does not have; use a key that has it`,
  );
}
