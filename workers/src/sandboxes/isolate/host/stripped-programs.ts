const MAX_CHARS = 16 * 1024 * 1024;

/** TypeScript programs and what is left of them without types; the least recently used are forgotten. */
export class StrippedPrograms {
  readonly #programs = new Map<string, string>();
  #chars = 0;

  get(code: string): string | null {
    const stripped = this.#programs.get(code);
    if (stripped === undefined) return null;
    this.#programs.delete(code);
    this.#programs.set(code, stripped);
    return stripped;
  }

  set(code: string, stripped: string): void {
    if (this.#programs.has(code)) return;
    this.#programs.set(code, stripped);
    this.#chars += code.length + stripped.length;
    for (const [oldest, itsStripped] of this.#programs) {
      if (this.#chars <= MAX_CHARS) return;
      this.#programs.delete(oldest);
      this.#chars -= oldest.length + itsStripped.length;
    }
  }
}
