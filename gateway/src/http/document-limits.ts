import { ApiError } from "@airlock/shared/domain";
import { type ASTNode, type DocumentNode, GraphQLError, Kind, parse, type Source } from "graphql";

/** An inline batch of some 2,000 small tasks; larger ones go into variables. Lexing this takes about 20 ms. */
const MAX_TOKENS = 20_000;
/** Fields, aliases and fragments in the whole document, before any rule that compares them with each other runs. */
const MAX_SELECTIONS = 500;
/** Of selections and of literal values; what validation and coercion recurse into. */
const MAX_NESTING = 300;

/** Cheap bounds that hold before the document is validated; its cost is judged later, when types are known. */
export function parseWithinLimits(source: string | Source): DocumentNode {
  const document = parseBounded(source);
  checkShape(document);
  return document;
}

function parseBounded(source: string | Source): DocumentNode {
  try {
    return parse(source, { maxTokens: MAX_TOKENS });
  } catch (error) {
    // The parser recurses: literals nested thousands of levels deep exhaust its stack.
    if (error instanceof RangeError) throw refused("the query is nested too deeply; pass large values as variables");
    throw error;
  }
}

function checkShape(document: DocumentNode): void {
  let selections = 0;
  const open: { node: ASTNode; depth: number }[] = [{ node: document, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next;
    if (node.kind === Kind.FIELD || node.kind === Kind.FRAGMENT_SPREAD || node.kind === Kind.INLINE_FRAGMENT) {
      selections += 1;
    }
    if (selections > MAX_SELECTIONS)
      throw refused(`the query selects over ${MAX_SELECTIONS} fields; ask for less at once`);
    if (depth > MAX_NESTING) throw refused("the query is nested too deeply; pass large values as variables");
    for (const child of childrenOf(node)) open.push({ node: child, depth: depth + 1 });
  }
}

function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.kind) {
    case Kind.DOCUMENT:
      return node.definitions;
    case Kind.OPERATION_DEFINITION:
    case Kind.FRAGMENT_DEFINITION:
    case Kind.INLINE_FRAGMENT:
      return [node.selectionSet];
    case Kind.SELECTION_SET:
      return node.selections;
    case Kind.FIELD:
      return [...(node.arguments ?? []), ...(node.selectionSet ? [node.selectionSet] : [])];
    case Kind.ARGUMENT:
    case Kind.OBJECT_FIELD:
      return [node.value];
    case Kind.LIST:
      return node.values;
    case Kind.OBJECT:
      return node.fields;
    default:
      return [];
  }
}

function refused(message: string): GraphQLError {
  return new GraphQLError(message, {
    originalError: new ApiError("BAD_INPUT", message),
    extensions: { http: { spec: true, status: 400 } },
  });
}
