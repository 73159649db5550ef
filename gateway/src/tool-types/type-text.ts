/** A TypeScript type as text; `compound` where `[]` or `&` after it would bind to a part of it only. */
export interface TypeText {
  readonly text: string;
  readonly compound: boolean;
}

export const simple = (text: string): TypeText => ({ text, compound: false });

export const UNKNOWN = simple("unknown");
export const NEVER = simple("never");

export function unionOf(members: readonly TypeText[]): TypeText {
  if (members.some(({ text }) => text === UNKNOWN.text)) return UNKNOWN;
  return joined(
    members.filter(({ text }) => text !== NEVER.text),
    " | ",
    NEVER,
  );
}

export function intersectionOf(members: readonly TypeText[]): TypeText {
  if (members.some(({ text }) => text === NEVER.text)) return NEVER;
  return joined(
    members.filter(({ text }) => text !== UNKNOWN.text),
    " & ",
    UNKNOWN,
  );
}

function joined(members: readonly TypeText[], by: string, none: TypeText): TypeText {
  const distinct = [...new Map(members.map((member) => [member.text, member])).values()];
  if (distinct.length < 2) return distinct[0] ?? none;
  return { text: distinct.map(wrapped).join(by), compound: true };
}

export function wrapped({ text, compound }: TypeText): string {
  return compound ? `(${text})` : text;
}
