import { z } from "zod";

/** Which secret may be sent to which repositories. */
export interface GitCredential {
  readonly name: string;
  /** `https://host/` or longer. */
  readonly prefix: string;
}

/** `NAME=https://host/path`, separated by commas: the secret `AIRLOCK_SECRET_<NAME>` goes there, and nowhere else. */
export const gitCredentials = z.string().transform((text, context): GitCredential[] =>
  text.split(",").flatMap((entry) => {
    const [, name = "", prefix = ""] = /^\s*([A-Za-z0-9_]+)=(\S+)\s*$/.exec(entry) ?? [];
    if (entry.trim() === "") return [];
    if (name === "" || !/^https?:/.test(prefix) || !URL.canParse(prefix) || new URL(prefix).username !== "") {
      context.addIssue({ code: "custom", message: "must be like GITHUB=https://github.com/acme, separated by commas" });
      return [];
    }
    const { href } = new URL(prefix);
    return [{ name, prefix: href.endsWith("/") ? href : `${href}/` }];
  }),
);

/** The header that carries a secret: `user:token`, or a token alone. */
export function authorization(secret: string): string {
  const pair = secret.includes(":") ? secret : `x-access-token:${secret}`;
  return `Authorization: Basic ${Buffer.from(pair).toString("base64")}`;
}
