import { describe, expect, it } from "vitest";
import { judge, POLICY_MODES, type PolicyRule, type PolicySubject, REMEMBER_SCOPES } from "./policy.ts";
import { compareSpecificity, matchesPattern, specificityOf } from "./policy-pattern.ts";

const subject: PolicySubject = {
  path: "github.createIssue",
  inputHash: "aa",
  taskId: "task",
  session: "blue",
  now: new Date(1_000),
};

let made = 0;
function rule(pattern: string, mode: PolicyRule["mode"], more: Partial<PolicyRule> = {}): PolicyRule {
  const scopeId = more.scope === "TASK" ? "task" : more.scope === "SESSION" ? "blue" : null;
  const id = `rule-${String(made++).padStart(6, "0")}`;
  return { id, pattern, mode, scope: "PROJECT", scopeId, inputHash: null, expiresAt: null, ...more };
}

const modeOf = (...rules: PolicyRule[]) => judge(rules, subject, "REQUIRED").mode;

describe("the most specific rule decides", () => {
  it("the tool's default, where no rule matches", () => {
    expect(judge([rule("kv.*", "DENY")], subject, "AUTO")).toEqual({ mode: "AUTO", rule: null });
  });

  it.each([
    ["an exact path over any glob", rule("github.createIssue", "AUTO"), rule("github.createIssu*", "DENY")],
    ["more literal segments", rule("github.*", "AUTO"), rule("**", "DENY")],
    ["more literal characters", rule("github.create*", "AUTO"), rule("github.*", "DENY")],
    ["the input's own rule", rule("github.createIssue", "AUTO", { inputHash: "aa" }), rule("github.*", "DENY")],
    [
      "the task's rule over the session's",
      rule("github.*", "AUTO", { scope: "TASK" }),
      rule("github.*", "REQUIRED", { scope: "SESSION" }),
    ],
    ["the session's rule over the project's", rule("*", "AUTO", { scope: "SESSION" }), rule("*", "REQUIRED")],
  ])("%s", (_, stronger, weaker) => {
    expect(judge([weaker, stronger], subject, "REQUIRED").rule).toBe(stronger);
    expect(judge([stronger, weaker], subject, "REQUIRED").rule).toBe(stronger);
  });

  it("DENY wins a tie, then REQUIRED", () => {
    expect(modeOf(rule("github.*", "AUTO"), rule("github.*", "DENY"), rule("github.*", "REQUIRED"))).toBe("DENY");
    expect(modeOf(rule("github.*", "AUTO"), rule("github.*", "REQUIRED"))).toBe("REQUIRED");
  });

  it("`a.*` and `a.**` name as much, so that DENY wins between them", () => {
    expect(modeOf(rule("github.*", "AUTO"), rule("github.**", "DENY"))).toBe("DENY");
  });
});

describe("a rule that does not hold", () => {
  it.each([
    ["has expired at this very instant", { expiresAt: new Date(1_000) }],
    ["is for another input", { inputHash: "bb" }],
    ["is for another task", { scope: "TASK", scopeId: "other" }],
    ["is for another session", { scope: "SESSION", scopeId: "red" }],
    ["names a task's id as a session", { scope: "SESSION", scopeId: "task" }],
  ] as [string, Partial<PolicyRule>][])("%s", (_, more) => {
    expect(judge([rule("**", "DENY", more)], subject, "AUTO").rule).toBeNull();
  });

  it("a session's rule without a session matches no task without one", () => {
    const stray = rule("**", "AUTO", { scope: "SESSION", scopeId: null });
    expect(judge([stray], { ...subject, session: null }, "REQUIRED").rule).toBeNull();
  });

  it("a pattern that is none", () => {
    expect(judge([rule("github.**x", "DENY"), rule("", "DENY")], subject, "AUTO").rule).toBeNull();
  });
});

describe("a remembered decision", () => {
  it("lifts REQUIRED for its own input, task or session", () => {
    const asked = rule("github.createIssue", "REQUIRED");
    expect(modeOf(asked, rule("github.createIssue", "AUTO", { inputHash: "aa" }))).toBe("AUTO");
    expect(modeOf(asked, rule("github.createIssue", "AUTO", { scope: "TASK" }))).toBe("AUTO");
    expect(modeOf(asked, rule("github.createIssue", "AUTO", { scope: "SESSION" }))).toBe("AUTO");
  });

  it("never lifts a DENY of the same path, however near or narrow it is", () => {
    const denied = rule("github.createIssue", "DENY");
    const remembered = rule("github.createIssue", "AUTO", { inputHash: "aa", scope: "TASK" });
    expect(judge([remembered, denied], subject, "AUTO").rule).toBe(denied);
  });
});

/** A small deterministic generator: a failure can be seen again. */
function createRandom(seed: number): <T>(from: readonly T[]) => T {
  let state = seed;
  return (from) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return from[Math.floor((state / 2 ** 32) * from.length)] as (typeof from)[number];
  };
}

describe("for any set of rules", () => {
  const pick = createRandom(7);
  const patterns = [
    "*",
    "**",
    "github.*",
    "github.**",
    "github.create*",
    "*.createIssue",
    "github.createIssue",
    "kv.*",
  ];
  const randomRule = (): PolicyRule =>
    rule(pick(patterns), pick(POLICY_MODES), {
      scope: pick(REMEMBER_SCOPES),
      inputHash: pick([null, "aa", "bb"]),
      expiresAt: pick([null, new Date(1_000), new Date(1_001)]),
    });
  const holding = (one: PolicyRule) =>
    matchesPattern(one.pattern, subject.path) && one.inputHash !== "bb" && one.expiresAt?.getTime() !== 1_000;

  it("order does not matter, a winner holds, and no denial as specific as it is overruled", () => {
    for (let round = 0; round < 3_000; round++) {
      const rules = Array.from({ length: pick([1, 2, 3, 5, 8]) }, randomRule);
      const { mode, rule: winner } = judge(rules, subject, "REQUIRED");
      expect(judge(rules.toReversed(), subject, "REQUIRED").rule).toBe(winner);
      const denials = rules.filter((one) => one.mode === "DENY" && holding(one));
      if (winner === null) {
        expect(rules.some(holding)).toBe(false);
        continue;
      }
      expect(holding(winner)).toBe(true);
      expect(mode).toBe(winner.mode);
      const overruled = denials.filter(
        (one) => compareSpecificity(specificityOf(one.pattern), specificityOf(winner.pattern)) >= 0,
      );
      if (mode !== "DENY") expect(overruled).toEqual([]);
    }
  });

  it("an added DENY never makes a denied call run", () => {
    for (let round = 0; round < 2_000; round++) {
      const rules = Array.from({ length: pick([1, 3, 6]) }, randomRule);
      const before = judge(rules, subject, "AUTO").mode;
      const after = judge([...rules, { ...randomRule(), mode: "DENY" }], subject, "AUTO").mode;
      if (before === "DENY") expect(after).toBe("DENY");
    }
  });
});
