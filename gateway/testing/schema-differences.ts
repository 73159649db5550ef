import { type ConstDirectiveNode, Kind, type NameNode, parse, print, type TypeNode, type ValueNode } from "graphql";

/** A field, an argument, an input field or an enum value. */
interface Member {
  readonly name: NameNode;
  readonly type?: TypeNode;
  readonly defaultValue?: ValueNode | undefined;
  readonly arguments?: readonly Member[] | undefined;
  readonly directives?: readonly ConstDirectiveNode[] | undefined;
}

interface Definition {
  readonly kind: string;
  readonly members: readonly Member[];
}

/** What a caller who relies on the one schema would miss or stumble over in the other, which may have more. */
export function schemaDifferences(promisedText: string, realText: string): string[] {
  const real = definitionsOf(realText);
  return [...definitionsOf(promisedText)].flatMap(([name, promised]) => {
    const found = real.get(name);
    if (!found) return [`${name} is missing`];
    if (found.kind !== promised.kind) return [`${name} is a ${found.kind}, not a ${promised.kind}`];
    const differences = compare(name, promised.members, found.members);
    // A new value in an answer is one that callers do not know; a new input must not be asked of them.
    if (promised.kind === Kind.ENUM_TYPE_DEFINITION)
      return [...differences, ...extra(name, promised, found, () => true)];
    if (promised.kind !== Kind.INPUT_OBJECT_TYPE_DEFINITION) return differences;
    return [...differences, ...extra(name, promised, found, isRequired)];
  });
}

function definitionsOf(text: string): Map<string, Definition> {
  const definitions = new Map<string, Definition>();
  for (const node of parse(text).definitions) {
    if (!("name" in node) || node.name === undefined) continue;
    const fields = "fields" in node ? node.fields : undefined;
    const values = "values" in node ? node.values : undefined;
    definitions.set(node.name.value, { kind: node.kind, members: fields ?? values ?? [] });
  }
  return definitions;
}

function compare(at: string, promised: readonly Member[], real: readonly Member[]): string[] {
  return promised.flatMap((member) => {
    const found = real.find((other) => other.name.value === member.name.value);
    const name = `${at}.${member.name.value}`;
    if (!found) return [`${name} is missing`];
    const own = shapeOf(found) === shapeOf(member) ? [] : [`${name} is ${shapeOf(found)}, not ${shapeOf(member)}`];
    const args = { kind: Kind.FIELD_DEFINITION, members: member.arguments ?? [] };
    const foundArgs = { kind: Kind.FIELD_DEFINITION, members: found.arguments ?? [] };
    return [...own, ...compare(name, args.members, foundArgs.members), ...extra(name, args, foundArgs, isRequired)];
  });
}

function extra(at: string, promised: Definition, real: Definition, matters: (member: Member) => boolean): string[] {
  const known = new Set(promised.members.map((member) => member.name.value));
  return real.members
    .filter((member) => !known.has(member.name.value) && matters(member))
    .map((member) => `${at}.${member.name.value} was never promised`);
}

function isRequired({ type, defaultValue }: Member): boolean {
  return type?.kind === Kind.NON_NULL_TYPE && defaultValue === undefined;
}

function shapeOf({ type, defaultValue }: Member): string {
  return `${type ? print(type) : ""}${defaultValue ? ` = ${print(defaultValue)}` : ""}`;
}
