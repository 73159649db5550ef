/** Changes a global when it is first looked at: Node loads it then, which costs milliseconds that most programs save. */
export function onFirstLook(name: string, change: (own: object) => void): void {
  const { get, value } = Object.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor;
  let seen: unknown;
  Object.defineProperty(globalThis, name, {
    get: () => {
      if (seen !== undefined) return seen;
      const own = (value ?? get?.call(globalThis)) as object;
      change(own);
      return (seen = own);
    },
    set: (mine: unknown) => {
      seen = mine;
    },
    configurable: true,
    enumerable: true,
  });
}
