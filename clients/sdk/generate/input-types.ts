import {
  getNamedType,
  getNullableType,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isScalarType,
  type OperationDefinitionNode,
  typeFromAST,
} from "graphql";
import type { Scope } from "./selection-types.ts";

const SCALARS: Readonly<Record<string, string>> = {
  ID: "string",
  String: "string",
  Int: "number",
  Float: "number",
  Boolean: "boolean",
  DateTime: "string",
  JSON: "unknown",
};

export interface InputTypes {
  readonly nameOf: Scope["nameOf"];
  /** Every enum, and every input that a field takes. */
  render(): string[];
}

export function createInputTypes(schema: GraphQLSchema): InputTypes {
  const nameOf = (type: GraphQLNamedType): string => {
    if (!isScalarType(type)) return type.name;
    const name = SCALARS[type.name];
    if (name === undefined) throw new Error(`no TypeScript type is known for the scalar ${type.name}`);
    return name;
  };
  const declared = (): string[] => {
    const types = Object.values(schema.getTypeMap()).filter((type) => !type.name.startsWith("__"));
    return types.sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((type) => declarationOf(type, nameOf));
  };
  return { nameOf, render: declared };
}

function declarationOf(type: GraphQLNamedType, nameOf: Scope["nameOf"]): string[] {
  if (isEnumType(type)) {
    const values = type.getValues().map(({ name }) => JSON.stringify(name));
    return [`export type ${type.name} = ${values.join(" | ")};\n`];
  }
  if (!isInputObjectType(type)) return [];
  const fields = Object.values(type.getFields()).map((field) => {
    const comment = field.description ? `  /** ${field.description.replaceAll("*/", "*\\/")} */\n` : "";
    return `${comment}  ${member(field.name, field.type, nameOf)};\n`;
  });
  return [`export interface ${type.name} {\n${fields.join("")}}\n`];
}

/** What may be null may be left out, or be undefined: callers build these from optional values. */
function member(name: string, type: GraphQLInputType, nameOf: Scope["nameOf"]): string {
  const text = inputType(type, nameOf);
  if (isNonNullType(type)) return `readonly ${name}: ${text}`;
  return `readonly ${name}?: ${text}${text === "unknown" ? "" : " | null | undefined"}`;
}

function inputType(type: GraphQLInputType, nameOf: Scope["nameOf"]): string {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return `readonly ${inputType(nullable.ofType, nameOf)}[]`;
  return nameOf(getNamedType(nullable));
}

export function renderVariables({ schema, nameOf }: Scope, node: OperationDefinitionNode): string {
  const members = (node.variableDefinitions ?? []).map(({ variable, type: typeNode }) => {
    const type = typeFromAST(schema, typeNode);
    if (!isInputType(type)) throw new Error(`$${variable.name.value} is no input`);
    return member(variable.name.value, type, nameOf);
  });
  return members.length === 0 ? "Record<string, never>" : `{ ${members.join("; ")} }`;
}
