const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** As the name of a member. `new` without quotes would be a constructor. */
export function memberName(name: string): string {
  return IDENTIFIER.test(name) && name !== "new" ? name : JSON.stringify(name);
}

/** Hands out names of types, each once. */
export function createTypeNames(): (words: readonly string[]) => string {
  const taken = new Set<string>();
  return (words) => {
    const base = words
      .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
      .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
      .join("")
      .replace(/^(?=\d)/, "T");
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}${n}`;
    taken.add(name);
    return name;
  };
}
