import { compareSpecificity, matchesPattern, specificityOf } from "./policy-pattern.ts";

/** AUTO runs the call, REQUIRED holds it until a person approves it, DENY rejects it. */
export const POLICY_MODES = ["AUTO", "REQUIRED", "DENY"] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

/** How far a remembered decision reaches. Policies that an operator sets are PROJECT. */
export const REMEMBER_SCOPES = ["TASK", "SESSION", "PROJECT"] as const;
export type RememberScope = (typeof REMEMBER_SCOPES)[number];

export interface PolicyRule {
  readonly id: string;
  readonly pattern: string;
  readonly mode: PolicyMode;
  readonly scope: RememberScope;
  /** The task's id (TASK) or the session's name (SESSION). */
  readonly scopeId: string | null;
  /** Hex. The rule holds only for calls with this hash. */
  readonly inputHash: string | null;
  readonly expiresAt: Date | null;
}

/** The call that is judged. */
export interface PolicySubject {
  readonly path: string;
  /** Hex. */
  readonly inputHash: string;
  readonly taskId: string;
  readonly session: string | null;
  readonly now: Date;
}

export interface Judgement {
  readonly mode: PolicyMode;
  /** The rule that decided; null: the tool's own default. */
  readonly rule: PolicyRule | null;
}

/** The stricter wins a tie. */
const STRICTNESS: Record<PolicyMode, number> = { AUTO: 0, REQUIRED: 1, DENY: 2 };
const NEARNESS: Record<RememberScope, number> = { PROJECT: 0, SESSION: 1, TASK: 2 };

/**
 * The most specific rule decides: one for exactly this input, then an exact path, then the pattern that spells out
 * more, then the nearer scope; among equals DENY, then REQUIRED.
 *
 * A DENY is more than a rule among others: whatever it names as closely as the winner does stays denied. So "do not ask
 * me again", said for one input, task or session, can lift a REQUIRED but never a DENY of the same pattern.
 */
export function judge(rules: readonly PolicyRule[], subject: PolicySubject, toolDefault: PolicyMode): Judgement {
  const matching = rules.filter((rule) => holdsFor(rule, subject));
  const winner = greatest(matching, compareRules);
  if (winner === null) return { mode: toolDefault, rule: null };
  const denial = greatest(
    matching.filter((rule) => rule.mode === "DENY"),
    comparePatterns,
  );
  const rule = denial !== null && comparePatterns(denial, winner) >= 0 ? denial : winner;
  return { mode: rule.mode, rule };
}

function holdsFor(rule: PolicyRule, subject: PolicySubject): boolean {
  if (rule.expiresAt !== null && rule.expiresAt <= subject.now) return false;
  if (rule.inputHash !== null && rule.inputHash !== subject.inputHash) return false;
  if (rule.scope === "TASK" && rule.scopeId !== subject.taskId) return false;
  // A task without a session is in nobody's session, whatever the rule's scopeId.
  if (rule.scope === "SESSION" && (subject.session === null || rule.scopeId !== subject.session)) return false;
  return matchesPattern(rule.pattern, subject.path);
}

function compareRules(a: PolicyRule, b: PolicyRule): number {
  return (
    Number(a.inputHash !== null) - Number(b.inputHash !== null) ||
    comparePatterns(a, b) ||
    NEARNESS[a.scope] - NEARNESS[b.scope] ||
    STRICTNESS[a.mode] - STRICTNESS[b.mode]
  );
}

function comparePatterns(a: PolicyRule, b: PolicyRule): number {
  return compareSpecificity(specificityOf(a.pattern), specificityOf(b.pattern));
}

/** Of equals the one with the least id, so that every worker names the same rule. */
function greatest(rules: readonly PolicyRule[], compare: (a: PolicyRule, b: PolicyRule) => number): PolicyRule | null {
  let best: PolicyRule | null = null;
  for (const rule of rules) {
    const order = best === null ? 1 : compare(rule, best) || (rule.id < best.id ? 1 : -1);
    if (order > 0) best = rule;
  }
  return best;
}
