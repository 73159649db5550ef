import { ApiError } from "@airlock/shared/domain";
import { complexityFromQuery } from "@pothos/plugin-complexity";
import { type ExecutionArgs, Kind, type OperationDefinitionNode } from "graphql";

/**
 * The largest honest query is a page of 100 tasks with all their fields: about 40 a task, so 4,000; and a page of
 * 1,000 events of one task is 5,000. Depth 12 is tasks → edges → node → batch → tasks → edges → node → … once over.
 */
export const QUERY_LIMITS = { depth: 12, breadth: 300, complexity: 20_000 };

type Limit = keyof typeof QUERY_LIMITS;

export function tooCostly(limit: Limit, value: number): ApiError {
  return new ApiError(
    "BAD_INPUT",
    `the query's ${limit} is ${value}; at most ${QUERY_LIMITS[limit]} is allowed: ask for less at once`,
  );
}

/** For subscriptions: the complexity plugin judges only when a field is resolved, which is once for each payload. */
export function checkCost(args: ExecutionArgs, operation: OperationDefinitionNode): void {
  const { schema, document, contextValue, variableValues } = args;
  const fragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  const cost = complexityFromQuery(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] },
    { schema, ctx: contextValue as object, variables: { ...variableValues } },
  );
  for (const limit of Object.keys(QUERY_LIMITS) as Limit[]) {
    if (cost[limit] > QUERY_LIMITS[limit]) throw tooCostly(limit, cost[limit]);
  }
}
