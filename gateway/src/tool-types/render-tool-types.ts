import { docComment } from "./comments.ts";
import { createTypeNames, memberName } from "./names.ts";
import { writeType } from "./type-writer.ts";

/** What a caller must know of a tool to write a call. */
export interface ToolSignature {
  readonly path: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** Null: any JSON. */
  readonly outputSchema: unknown;
}

interface Node {
  tool: ToolSignature | null;
  readonly children: Map<string, Node>;
}

/** TypeScript declarations of `tools` and `input`, for a model's prompt and for the editor. */
export function renderToolTypes(tools: readonly ToolSignature[]): string {
  const nameOf = createTypeNames();
  const aliases: string[] = [];
  const signature = (tool: ToolSignature, indent: string): string => {
    const name = (side: string) => (def: string) => nameOf([...tool.path.split("."), side, def]);
    const input = writeType(tool.inputSchema, "input", indent, name("input"));
    const output = writeType(tool.outputSchema ?? true, "output", indent, name("output"));
    aliases.push(...input.aliases, ...output.aliases);
    return `(input: ${input.text}): Promise<${output.text}>`;
  };
  const members = renderMembers(grow(tools), "  ", signature);
  const parts = [
    ...aliases,
    `${docComment(["What the task was submitted with."], "")}declare const input: any;\n`,
    `declare const tools: {\n${members}};\n`,
  ];
  return parts.join("\n");
}

function grow(tools: readonly ToolSignature[]): Node {
  const root: Node = { tool: null, children: new Map() };
  for (const tool of tools.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    let at = root;
    for (const segment of tool.path.split(".")) {
      const next = at.children.get(segment) ?? { tool: null, children: new Map() };
      at.children.set(segment, next);
      at = next;
    }
    at.tool = tool;
  }
  return root;
}

function renderMembers(node: Node, indent: string, signature: (tool: ToolSignature, indent: string) => string): string {
  let text = "";
  for (const [segment, child] of node.children) {
    const { tool, children } = child;
    const name = `${indent}${memberName(segment)}`;
    const doc = tool === null ? "" : docComment([tool.description], indent);
    if (tool !== null && children.size === 0) {
      text += `${doc}${name}${signature(tool, indent)};\n`;
      continue;
    }
    const inner = `${indent}  `;
    // A path that is a tool and also leads to others: an object that can be called.
    const call = tool === null ? "" : `${inner}${signature(tool, inner)};\n`;
    text += `${doc}${name}: {\n${call}${renderMembers(child, inner, signature)}${indent}};\n`;
  }
  return text;
}
