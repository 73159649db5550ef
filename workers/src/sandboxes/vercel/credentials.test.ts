import { expect, it } from "vitest";
import { findCredentials } from "./credentials.ts";

const NONE = { VERCEL_OIDC_TOKEN: null, VERCEL_TOKEN: null, VERCEL_TEAM_ID: null, VERCEL_PROJECT_ID: null };

it("takes token, team and project, all three", () => {
  const env = { ...NONE, VERCEL_TOKEN: "t", VERCEL_TEAM_ID: "team", VERCEL_PROJECT_ID: "project" };
  expect(findCredentials(env)).toEqual({ token: "t", teamId: "team", projectId: "project" });
});

it("takes team and project out of an OIDC token", () => {
  const claims = Buffer.from(JSON.stringify({ owner_id: "team", project_id: "project" })).toString("base64url");
  const token = `e30.${claims}.signature`;
  expect(findCredentials({ ...NONE, VERCEL_OIDC_TOKEN: token })).toEqual({
    token,
    teamId: "team",
    projectId: "project",
  });
});

it.each([
  ["nothing", NONE, /no VERCEL_OIDC_TOKEN/],
  ["a token alone", { ...NONE, VERCEL_TOKEN: "secret" }, /VERCEL_TEAM_ID/],
  ["an OIDC token that is none", { ...NONE, VERCEL_OIDC_TOKEN: "secret" }, /no token of a Vercel project/],
])("%s is said, without the secret", (_, env, words) => {
  const found = findCredentials(env);
  expect(found).toEqual({ absent: expect.stringMatching(words) });
  expect(JSON.stringify(found)).not.toContain("secret");
});
