import { type DocumentNode, type OperationDefinitionNode, visit } from "graphql";

const documentNumbers = new WeakMap<DocumentNode, number>();
const shapingVariables = new WeakMap<OperationDefinitionNode, readonly string[]>();
let documents = 0;

/**
 * Equal for requests that make the same of a given payload: the same document, operation and variables, except for
 * those that only say where to begin (`after`). The same text is the same document, thanks to the document cache.
 */
export function selectionKey(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): string {
  const names = shapingVariables.get(operation) ?? namesOf(document, operation);
  shapingVariables.set(operation, names);
  const number = documentNumbers.get(document) ?? (documents += 1);
  documentNumbers.set(document, number);
  return JSON.stringify([number, operation.name?.value ?? null, names.map((name) => variables[name])]);
}

/** Of the variables that are used anywhere but in the arguments of the root fields. */
function namesOf(document: DocumentNode, operation: OperationDefinitionNode): string[] {
  const roots: ReadonlySet<unknown> = new Set(operation.selectionSet.selections);
  const names = new Set<string>();
  visit(document, {
    VariableDefinition: () => false,
    // An argument's parent is the list of arguments; the last of its ancestors is whose list that is.
    Argument: (_node, _key, _parent, _path, ancestors) => (roots.has(ancestors.at(-1)) ? false : undefined),
    Variable: (node) => void names.add(node.name.value),
  });
  return [...names].toSorted();
}
