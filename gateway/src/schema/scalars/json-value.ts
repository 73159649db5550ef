import { GraphQLError, Kind, type ValueNode } from "graphql";

/** Deep enough for any document; far below where JSON.stringify runs out of stack. */
const MAX_DEPTH = 256;

/** Refuses what cannot be stored without loss. Iterative: a value 100,000 levels deep must not overflow the stack. */
export function checkJson(value: unknown): unknown {
  if (value === null || typeof value !== "object") return checkNumber(value);
  const open: { value: object; depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > MAX_DEPTH) throw tooDeep();
    const members: unknown[] = Array.isArray(next.value) ? next.value : Object.values(next.value);
    for (const member of members) {
      if (member !== null && typeof member === "object") open.push({ value: member, depth: next.depth + 1 });
      else checkNumber(member);
    }
  }
  return value;
}

function checkNumber(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new GraphQLError("a number is too large for JSON as JavaScript knows it; send it as a string");
  }
  return value;
}

function tooDeep(): GraphQLError {
  return new GraphQLError(
    `a JSON value is nested more than ${MAX_DEPTH} levels deep; flatten it or send it as a string`,
  );
}

/** The depth of a document is checked before this, so the recursion is bounded. */
export function jsonOfLiteral(
  node: ValueNode,
  variables: Readonly<Record<string, unknown>> | null | undefined,
): unknown {
  switch (node.kind) {
    case Kind.STRING:
    case Kind.BOOLEAN:
      return node.value;
    case Kind.ENUM:
      throw new GraphQLError(`${node.value} is not a JSON value; put strings in quotes`);
    case Kind.INT:
    case Kind.FLOAT:
      return checkNumber(Number(node.value));
    case Kind.NULL:
      return null;
    case Kind.LIST:
      return node.values.map((item) => jsonOfLiteral(item, variables));
    case Kind.OBJECT: {
      // Without a prototype, so that a key called `__proto__` is a key.
      const object = Object.create(null) as Record<string, unknown>;
      for (const field of node.fields) object[field.name.value] = jsonOfLiteral(field.value, variables);
      return object;
    }
    case Kind.VARIABLE:
      return checkJson(variables?.[node.name.value] ?? null);
  }
}
