import {
  getNamedType,
  getNullableType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from "graphql";

export interface Scope {
  readonly schema: GraphQLSchema;
  /** The TypeScript name of a scalar, an enum or an input. */
  readonly nameOf: (type: GraphQLNamedType) => string;
}

/** The type of what a selection answers: its fields, and the fragments that it spreads by their names. */
export function renderSelection(scope: Scope, parent: GraphQLNamedType | undefined, set: SelectionSetNode): string {
  if (!isObjectType(parent)) throw new Error(`only objects are selected from, not ${parent?.name}`);
  const spreads: string[] = [];
  const fields: string[] = [];
  for (const selection of set.selections) {
    if (selection.kind === Kind.FRAGMENT_SPREAD) spreads.push(selection.name.value);
    else if (selection.kind === Kind.INLINE_FRAGMENT) throw new Error("inline fragments are not used here");
    else {
      const field = parent.getFields()[selection.name.value];
      if (field === undefined) throw new Error(`${parent.name} has no field ${selection.name.value}`);
      const inner = renderNamed(scope, field.type, selection.selectionSet);
      fields.push(`readonly ${selection.alias?.value ?? selection.name.value}: ${wrap(field.type, inner)}`);
    }
  }
  if (fields.length > 0) spreads.push(`{ ${fields.join("; ")} }`);
  return spreads.join(" & ");
}

function renderNamed(scope: Scope, type: GraphQLOutputType, set: SelectionSetNode | undefined): string {
  const named = getNamedType(type);
  return set === undefined ? scope.nameOf(named) : renderSelection(scope, named, set);
}

function wrap(type: GraphQLOutputType, inner: string): string {
  const nullable = getNullableType(type);
  const text = isListType(nullable) ? `readonly (${wrap(nullable.ofType, inner)})[]` : inner;
  return isNonNullType(type) || inner === "unknown" ? text : `${text} | null`;
}
