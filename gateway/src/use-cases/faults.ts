import { ApiError, type ApiErrorCode } from "@airlock/shared/domain";

/** More would not help anybody to correct a batch. */
const MAX_SHOWN = 5;

/** Gathers what is wrong with a submission, so that a caller sees the first few faults at once. */
export class Faults {
  readonly #shown: string[] = [];
  #code: ApiErrorCode | null = null;
  #count = 0;

  get any(): boolean {
    return this.#count > 0;
  }

  add(field: string, message: string, code: ApiErrorCode = "BAD_INPUT"): void {
    this.#count += 1;
    this.#code ??= code;
    if (this.#shown.length < MAX_SHOWN) this.#shown.push(`${field}: ${message}`);
  }

  throwIfAny(): void {
    if (this.#code === null) return;
    const more = this.#count - this.#shown.length;
    throw new ApiError(this.#code, this.#shown.join("; ") + (more > 0 ? `; and ${more} more` : ""));
  }
}
