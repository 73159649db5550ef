/** Who changes things that a configuration file sets. */
export const CONFIG_ACTOR = "airlock.config.ts";

/** What has changed; told to the audit log and, after the commit, to the fleet. */
export interface Change {
  readonly action: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}
