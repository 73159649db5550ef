import { builder } from "../builder.ts";
import { checkJson, jsonOfLiteral } from "./json-value.ts";

builder.scalarType("JSON", {
  description: "Any JSON value. It comes back as it was sent: NUL, lone surrogates and keys like `__proto__` included.",
  parseValue: checkJson,
  parseLiteral: (node, variables) => jsonOfLiteral(node, variables),
  serialize: (value) => value,
});

/** Users' JSON is kept as text; null stands for absent. */
export function fromJsonText(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
