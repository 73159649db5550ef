import { SUBMISSION_LIMITS } from "@airlock/shared/domain";
import type { Faults } from "./faults.ts";
import { unstorable } from "./texts.ts";

/** Key and JSON text of a scalar. */
export type LabelPair = readonly [string, string];

const NONE: readonly LabelPair[] = [];

/** A flat object of scalars, as pairs in the order of their keys. Faults name the field. */
export function readLabels(labels: unknown, field: string, faults: Faults): readonly LabelPair[] {
  if (labels === undefined || labels === null) return NONE;
  if (typeof labels !== "object" || Array.isArray(labels)) {
    faults.add(field, 'must be a flat object of scalars, like {"team": "search"}');
    return NONE;
  }
  const entries = Object.entries(labels);
  if (entries.length > SUBMISSION_LIMITS.labels) {
    faults.add(field, `has ${entries.length} labels; at most ${SUBMISSION_LIMITS.labels} are allowed`);
    return NONE;
  }
  const pairs: LabelPair[] = [];
  for (const [key, value] of entries) {
    const fault = labelFault(key, value);
    if (fault === null) pairs.push([key, JSON.stringify(value)]);
    else faults.add(`${field}[${JSON.stringify(key.slice(0, 40))}]`, fault);
  }
  return pairs.sort(([a], [b]) => (a < b ? -1 : 1));
}

function labelFault(key: string, value: unknown): string | null {
  const { labelKeyChars, labelValueChars } = SUBMISSION_LIMITS;
  if (key === "") return "has an empty key; name the label";
  if (key.length > labelKeyChars) return `has a key of ${key.length} characters; at most ${labelKeyChars} are allowed`;
  const fault = unstorable(key);
  if (fault !== null) return `has a key that ${fault}`;
  if (value !== null && typeof value === "object") return "is not a scalar; use a string, number, boolean or null";
  if (typeof value === "string" && value.length > labelValueChars) {
    return `has ${value.length} characters; at most ${labelValueChars} are allowed`;
  }
  return null;
}

/** Back to an object. Without a prototype, so that a label called `__proto__` is a label. */
export function labelsToJson(pairs: readonly LabelPair[]): Record<string, unknown> {
  const labels = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of pairs) labels[key] = JSON.parse(value);
  return labels;
}
