/** How lines travel between the worker and the agent of one sandbox. One transport serves one guest. */
export interface Transport {
  /** Hands a line (without its newline) to the agent, in order. Lost without a word once the sandbox is gone. */
  send(line: string): void;
  /** Called once, before anything is sent. Pieces are cut anywhere. */
  listen(heard: TransportListener): void;
  /** Resolves when everything in the sandbox has ended and all that it said was heard. */
  readonly ended: Promise<TransportEnd>;
  /** Ends every process of the guest, whatever it does against it; `ended` resolves soon after. */
  kill(): void;
}

export interface TransportListener {
  /** Of the channel. */
  data(piece: Buffer | string): void;
  /** Printed past the agent: by a process that the program started, or straight to a file descriptor. */
  raw(stream: 1 | 2, piece: Buffer): void;
}

export type TransportEnd =
  | { readonly kind: "exited"; readonly exitCode: number | null; readonly signal: string | null }
  /** Ended by the sandbox's own memory limit, as seen from outside. */
  | { readonly kind: "out of memory" }
  /** The sandbox went away through no proven fault of the guest. */
  | { readonly kind: "gone"; readonly reason: string };
