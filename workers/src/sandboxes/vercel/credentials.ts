/** What opens the vendor's API. It stays in this process: no sandbox, log or table ever holds it. */
export interface VercelCredentials {
  readonly token: string;
  readonly teamId: string;
  readonly projectId: string;
}

export interface VercelEnv {
  readonly VERCEL_OIDC_TOKEN: string | null;
  readonly VERCEL_TOKEN: string | null;
  readonly VERCEL_TEAM_ID: string | null;
  readonly VERCEL_PROJECT_ID: string | null;
}

export type FoundCredentials = VercelCredentials | { readonly absent: string };

/** Always given to the SDK in full: left to look for them itself, it would ask at a terminal. */
export function findCredentials(env: VercelEnv): FoundCredentials {
  const { VERCEL_TOKEN: token, VERCEL_TEAM_ID: teamId, VERCEL_PROJECT_ID: projectId } = env;
  if (token !== null && teamId !== null && projectId !== null) return { token, teamId, projectId };
  if (env.VERCEL_OIDC_TOKEN !== null) return readOidcToken(env.VERCEL_OIDC_TOKEN);
  if (token === null) return { absent: "no VERCEL_OIDC_TOKEN, and no VERCEL_TOKEN, in the worker's environment" };
  return { absent: "VERCEL_TOKEN needs VERCEL_TEAM_ID and VERCEL_PROJECT_ID beside it" };
}

function readOidcToken(token: string): FoundCredentials {
  try {
    const text = Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
    const claims = JSON.parse(text) as { owner_id?: unknown; project_id?: unknown };
    const { owner_id: teamId, project_id: projectId } = claims;
    if (typeof teamId === "string" && typeof projectId === "string") return { token, teamId, projectId };
  } catch {
    // Said below.
  }
  return { absent: "VERCEL_OIDC_TOKEN is no token of a Vercel project" };
}
