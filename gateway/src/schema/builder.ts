import SchemaBuilder from "@pothos/core";
import ComplexityPlugin from "@pothos/plugin-complexity";
import type { RequestContext } from "../context.ts";
import { QUERY_LIMITS, tooCostly } from "./query-limits.ts";
import { scopePlugin } from "./scope-plugin.ts";

export const builder = new SchemaBuilder<{
  Context: RequestContext;
  DefaultFieldNullability: false;
  Scalars: {
    JSON: { Input: unknown; Output: unknown };
    DateTime: { Input: Date; Output: Date };
    ID: { Input: string; Output: string };
  };
}>({
  // The first is the outermost: cost is judged before scopes, and both before anything is done.
  plugins: [ComplexityPlugin, scopePlugin],
  defaultFieldNullability: false,
  complexity: {
    limit: QUERY_LIMITS,
    defaultListMultiplier: 1,
    complexityError: (kind, result) => {
      const limit = kind.toLowerCase() as keyof typeof QUERY_LIMITS;
      return tooCostly(limit, result[limit]);
    },
  },
});

builder.queryType({});
builder.mutationType({});
builder.subscriptionType({});
