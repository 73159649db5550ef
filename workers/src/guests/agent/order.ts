/** What to run: `StartOrder` of the channel's protocol. */
export interface Order {
  readonly language: string;
  readonly code: string;
  readonly input: string | null;
  readonly digest: string;
  readonly clockStart: number;
  readonly live: boolean;
}

export type Message = readonly [kind: string, ...fields: unknown[]];
