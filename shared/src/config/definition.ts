import { z } from "zod";
import { environmentDefinition, environmentNameFault, patternFault, POLICY_MODES } from "../domain/index.ts";

const policy = z.union([
  z.enum(POLICY_MODES),
  z.strictObject({ mode: z.enum(POLICY_MODES), approvalMs: z.int().min(1).nullable().default(null) }),
]);

const environmentName = z.string().superRefine((name, context) => {
  const fault = environmentNameFault(name);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

const pattern = z.string().superRefine((text, context) => {
  const fault = patternFault(text);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

export const configSchema = z.strictObject({
  /** The project's id; absent: the default project. */
  project: z.uuid().nullable().default(null),
  /** By name. `languages` may be left out where a worker has told of the provider. */
  environments: z.record(environmentName, environmentDefinition.partial({ languages: true })).default({}),
  /** Absent: the API decides. */
  defaultEnvironment: z.string().exactOptional(),
  /** Pattern of tool paths → mode. */
  policies: z.record(pattern, policy).default({}),
  limits: z
    .strictObject({
      /** Ended tasks are deleted when they are this old; null: never. Absent: the API decides. */
      retentionDays: z.int().min(1).max(36_500).nullable().exactOptional(),
    })
    .default({}),
  /** Files, relative to this one, or packages with tools, as in AIRLOCK_TOOLS. */
  tools: z.array(z.string().min(1)).default([]),
});

/** What `airlock.config.ts` says. */
export type AirlockConfig = z.input<typeof configSchema>;

/** With every default filled in. */
export type Config = z.output<typeof configSchema>;

/** Gives an editor the types; changes nothing. */
export function defineConfig(config: AirlockConfig): AirlockConfig {
  return config;
}
