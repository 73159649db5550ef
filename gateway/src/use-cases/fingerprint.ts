import { createHash } from "node:crypto";
import type { Submission } from "./validate-submission.ts";

/** SHA-256 of what was asked for, whatever the order of keys and whether defaults were spelled out. */
export function taskFingerprint(submission: Submission): Buffer {
  return createHash("sha256").update(canonicalSubmission(submission)).digest();
}

export function batchFingerprint(label: string | null, submissions: readonly Submission[]): Buffer {
  const hash = createHash("sha256").update(JSON.stringify(label));
  for (const submission of submissions) hash.update("\n").update(canonicalSubmission(submission));
  return hash.digest();
}

/** An ended task does not change: its id says all of it. */
export function retryFingerprint(taskId: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify({ retryOf: taskId }))
    .digest();
}

function canonicalSubmission(submission: Submission): string {
  const { code, language, askedEnvironment, session, timeoutMs, queueTtlMs, priority, runAt, labels, maxToolCalls } =
    submission;
  const input = submission.input === null ? null : canonicalJson(JSON.parse(submission.input));
  const parts = [
    code,
    language,
    askedEnvironment,
    session,
    timeoutMs,
    queueTtlMs,
    priority,
    runAt,
    labels,
    maxToolCalls,
    input,
    // Nothing where there are none: keys that were used before tasks had files stay good.
    ...submission.files.map(({ path, sha256 }) => [path, sha256]),
    // Nothing where there are none: keys that were used before tasks had dependencies stay good.
    ...(submission.dependencies === null ? [] : [{ dependencies: submission.dependencies }]),
    // Nothing where it is the default: keys that were used before there was another stay good.
    ...(submission.replayable ? [] : [{ replayable: false }]),
  ];
  return JSON.stringify(parts);
}

/** Keys sorted at every level. The depth is bounded by the JSON scalar. */
function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}
