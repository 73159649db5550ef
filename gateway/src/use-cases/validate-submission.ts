import { DEFAULT_ENVIRONMENT, type Language, SUBMISSION_LIMITS } from "@airlock/shared/domain";
import type { EnvironmentChoice, KnownEnvironment } from "./environments/choose.ts";
import type { Faults } from "./faults.ts";
import { type LabelPair, readLabels } from "./labels.ts";
import { type FileInput, readFiles, type SubmittedFile } from "./read-files.ts";
import { readDependencies } from "./read-dependencies.ts";
import { nameFault, unstorable } from "./texts.ts";

/** What a caller may send for a task; null counts as absent. */
export interface SubmissionInput {
  readonly code: string;
  readonly language?: Language | null | undefined;
  readonly environment?: string | null | undefined;
  readonly input?: unknown;
  readonly files?: readonly FileInput[] | null | undefined;
  readonly dependencies?: unknown;
  readonly session?: string | null | undefined;
  readonly timeoutMs?: number | null | undefined;
  readonly queueTtlMs?: number | null | undefined;
  readonly priority?: number | null | undefined;
  readonly runAt?: Date | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
  readonly labels?: unknown;
  readonly maxToolCalls?: number | null | undefined;
  readonly replayable?: boolean | null | undefined;
}

/** Within all bounds, with every default filled in. */
export interface Submission {
  readonly code: string;
  readonly language: Language;
  readonly environment: string;
  /** Null: a built-in one. */
  readonly environmentId: string | null;
  /** What the caller said: the same request stays the same when a default changes. */
  readonly askedEnvironment: string;
  readonly provider: string;
  /** JSON text. */
  readonly input: string | null;
  readonly session: string | null;
  readonly timeoutMs: number | null;
  readonly queueTtlMs: number | null;
  readonly priority: number;
  readonly runAt: Date | null;
  readonly labels: readonly LabelPair[];
  readonly maxToolCalls: number | null;
  /** False: its program is run at most once. */
  readonly replayable: boolean;
  readonly files: readonly SubmittedFile[];
  /** JSON text, names sorted; null: none. */
  readonly dependencies: string | null;
}

const MAX_INT = 2 ** 31 - 1;

/** The answer counts only if no fault was added; `at` is the path of the submission (`tasks[17].`). */
export function validateSubmission(
  given: SubmissionInput,
  environments: EnvironmentChoice,
  at: string,
  faults: Faults,
): Submission {
  const language = given.language ?? "TYPESCRIPT";
  const environment = checkEnvironment(environments.nameFor(given), environments, language, at, faults);
  checkCode(given.code, at, faults);
  checkRange(given.timeoutMs, 1, SUBMISSION_LIMITS.timeoutMsMax, `${at}timeoutMs`, faults);
  checkRange(given.queueTtlMs, 1, SUBMISSION_LIMITS.queueTtlMsMax, `${at}queueTtlMs`, faults);
  checkRange(given.priority, 0, SUBMISSION_LIMITS.priorityMax, `${at}priority`, faults);
  checkRange(given.maxToolCalls, 0, MAX_INT, `${at}maxToolCalls`, faults);
  checkName(given.session, `${at}session`, faults);
  return {
    code: given.code,
    language,
    environment: environment.name,
    environmentId: environment.id,
    askedEnvironment: given.environment ?? DEFAULT_ENVIRONMENT,
    provider: environment.provider,
    input: readInput(given.input, at, faults),
    session: given.session ?? null,
    timeoutMs: given.timeoutMs ?? null,
    queueTtlMs: given.queueTtlMs ?? null,
    priority: given.priority ?? 0,
    runAt: given.runAt ?? null,
    labels: readLabels(given.labels, `${at}labels`, faults),
    maxToolCalls: given.maxToolCalls ?? null,
    replayable: readReplayable(given.replayable, environment, `${at}replayable`, faults),
    files: readFiles(given.files, `${at}files`, faults),
    dependencies: readDependencies(
      given.dependencies,
      { language, environment, environments },
      `${at}dependencies`,
      faults,
    ),
  };
}

/** A guest that is kept as it is never runs again anyway: whoever says so there takes the isolate for something else. */
function readReplayable(
  given: boolean | null | undefined,
  { name, provider }: KnownEnvironment,
  field: string,
  faults: Faults,
): boolean {
  if (given === false && provider === "isolate") {
    const kept = `the environment "${name}" keeps a waiting program as it is and does not run it again`;
    faults.add(field, `is false, but ${kept}; leave it out, or name an environment outside the isolate`);
  }
  return given ?? true;
}

export function checkName(name: string | null | undefined, field: string, faults: Faults): void {
  const fault = name === null || name === undefined ? null : nameFault(name);
  if (fault !== null) faults.add(field, fault);
}

function checkCode(code: string, at: string, faults: Faults): void {
  const limit = SUBMISSION_LIMITS.codeBytes;
  // A UTF-16 unit is at most 3 bytes of UTF-8: short code need not be measured.
  const bytes = code.length * 3 <= limit ? 0 : Buffer.byteLength(code);
  if (bytes > limit) {
    faults.add(
      `${at}code`,
      `has ${bytes} bytes; at most ${limit} are allowed; pass data as input instead`,
      "TOO_LARGE",
    );
    return;
  }
  if (code.trim() === "") faults.add(`${at}code`, "is empty; give a program such as `return 1 + 1`");
  const fault = unstorable(code);
  if (fault !== null) faults.add(`${at}code`, `${fault}, or write it as an escape inside a string literal`);
}

const NO_ENVIRONMENT: KnownEnvironment = { id: null, name: "", provider: "", languages: [], active: false };
/** More names than this would not help anybody to correct one. */
const NAMES_SHOWN = 20;

function checkEnvironment(
  name: string,
  environments: EnvironmentChoice,
  language: Language,
  at: string,
  faults: Faults,
): KnownEnvironment {
  const environment = environments.find(name);
  if (environment === null) {
    const { names } = environments;
    const known = names.slice(0, NAMES_SHOWN).join(", ") + (names.length > NAMES_SHOWN ? ", …" : "");
    faults.add(`${at}environment`, `there is no environment ${quote(name)}; known are: ${known}`);
    return NO_ENVIRONMENT;
  }
  if (!environment.active) {
    faults.add(`${at}environment`, `the environment ${quote(name)} is deactivated; name another, or activate it`);
  }
  if (!environment.languages.includes(language)) {
    const able = environment.languages.join(", ");
    faults.add(`${at}language`, `the environment "${name}" cannot run ${language}; it runs: ${able}`);
  }
  return environment;
}

function checkRange(value: number | null | undefined, min: number, max: number, field: string, faults: Faults): void {
  if (value === null || value === undefined || (value >= min && value <= max)) return;
  faults.add(field, `is ${value}; it must be between ${min} and ${max}`);
}

function readInput(input: unknown, at: string, faults: Faults): string | null {
  if (input === undefined) return null;
  const text = JSON.stringify(input);
  const limit = SUBMISSION_LIMITS.inputBytes;
  const bytes = text.length * 3 <= limit ? 0 : Buffer.byteLength(text);
  if (bytes > limit) faults.add(`${at}input`, `has ${bytes} bytes as JSON; at most ${limit} are allowed`, "TOO_LARGE");
  return text;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
