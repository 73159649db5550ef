import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  print,
  visit,
} from "graphql";
import { createInputTypes, renderVariables } from "./input-types.ts";
import { renderSelection, type Scope } from "./selection-types.ts";

const HEADER = `// Made by clients/sdk/generate/main.ts; do not edit.
import type { Operation } from "./operation.ts";
`;

/** One type for each fragment, enum and input, and one constant for each operation: its text with its types. */
export function renderClientTypes(schema: GraphQLSchema, document: DocumentNode): string {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
    if (node.kind === Kind.OPERATION_DEFINITION) operations.push(node);
  }
  const inputs = createInputTypes(schema);
  const scope: Scope = { schema, nameOf: inputs.nameOf };
  const rendered = [
    ...[...fragments.values()].map((node) => renderFragment(scope, node)),
    ...operations.map((node) => renderOperation(scope, node, fragments)),
  ];
  return [HEADER, ...inputs.render(), ...rendered].join("\n");
}

function renderFragment(scope: Scope, node: FragmentDefinitionNode): string {
  const parent = scope.schema.getType(node.typeCondition.name.value);
  return `export type ${node.name.value} = ${renderSelection(scope, parent, node.selectionSet)};\n`;
}

function renderOperation(
  scope: Scope,
  node: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): string {
  const root = scope.schema.getRootType(node.operation);
  const data = renderSelection(scope, root ?? undefined, node.selectionSet);
  const used = spreadsOf(node, fragments).map((name) => fragments.get(name) as FragmentDefinitionNode);
  const text = [node, ...used].map((part) => print(part)).join("\n\n");
  const types = `Operation<${data}, ${renderVariables(scope, node)}>`;
  return `export const ${node.name?.value}: ${types} = {\n  text: \`\n${text}\n\`,\n};\n`;
}

function spreadsOf(
  node: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  found: string[] = [],
): string[] {
  visit(node, {
    FragmentSpread({ name }) {
      const fragment = fragments.get(name.value);
      if (fragment === undefined || found.includes(name.value)) return;
      found.push(name.value);
      spreadsOf(fragment, fragments, found);
    },
  });
  return found;
}
