import { createInterface } from "node:readline";
import { Writable } from "node:stream";

export interface AskOptions {
  readonly input: NodeJS.ReadStream;
  /** Takes the question away: the answer is then null, as when the person leaves with Ctrl-D. */
  readonly signal?: AbortSignal;
  /** Nothing of the answer is shown. */
  readonly secret?: boolean;
}

export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** One question to the person at the terminal. Ctrl-C rejects as `Interrupted`. */
export function ask(question: string, { input, signal, secret = false }: AskOptions): Promise<string | null> {
  const output = secret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const readline = createInterface({ input, output, terminal: true, historySize: 0 });
  // Only now does the terminal show nothing by itself: who types at once must not be seen either.
  if (secret) process.stderr.write(question);
  return new Promise((resolve, reject) => {
    const end = (act: () => void): void => {
      signal?.removeEventListener("abort", leave);
      // Before the closing, which is an answer too: none.
      act();
      readline.close();
      if (secret) process.stderr.write("\n");
    };
    const leave = (): void => end(() => resolve(null));
    if (signal?.aborted) return leave();
    signal?.addEventListener("abort", leave, { once: true });
    readline.once("SIGINT", () => end(() => reject(new Interrupted())));
    readline.once("close", () => resolve(null));
    readline.question(secret ? "" : question, (answer) => end(() => resolve(answer.trim())));
  });
}
