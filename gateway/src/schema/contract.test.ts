import { readFile } from "node:fs/promises";
import { printSchema } from "graphql";
import { expect, test } from "vitest";
import { schemaDifferences } from "../../testing/schema-differences.ts";
import { schema } from "./index.ts";

const contract = await readFile(new URL("../../contract.graphql", import.meta.url), "utf8");

test("callers find all that contract.graphql promises, with the same types, defaults and nullability", () => {
  expect(schemaDifferences(contract, printSchema(schema))).toEqual([]);
});

test("a field that is gone, nullable or another, a new enum value or a demanded argument does not go unnoticed", () => {
  const promised = "enum E { A } input I { a: Int = 1 } type T { f(x: Int): Int! g: [T!]! } type Query { t: T }";
  const real = "enum E { A B } input I { a: Int b: Int! } type T { f(x: Int, y: Int!): Int } scalar Query";
  expect(schemaDifferences(promised, real)).toEqual([
    "E.B was never promised",
    "I.a is Int, not Int = 1",
    "I.b was never promised",
    "T.f is Int, not Int!",
    "T.f.y was never promised",
    "T.g is missing",
    "Query is a ScalarTypeDefinition, not a ObjectTypeDefinition",
  ]);
});
