/** `relay <1 or 2> <lock>`: what it reads, as lines of its number and base64, as soon as it comes. */
const RELAY = `
relay() {
  exec 9>"$2"
  while piece=$(dd bs=48k count=1 2>/dev/null | base64 -w 0) && [ -n "$piece" ]; do
    # A line may be longer than a pipe's atomic write, and must not be mixed with the other stream's.
    flock 9
    printf '%s%s\\n' "$1" "$piece" >&2
    flock -u 9
  done
}
`;

/** Of the shell, for places where descriptors 1 and 2 of a program have but one stream to leave by. */
export const RELAY_SHELL = { text: RELAY, tools: ["dd", "base64", "flock", "mkfifo"] } as const;

/** A piece of 48 KiB, in base64. */
const MAX_LINE_CHARS = 128 * 1024;

/** Takes apart what `relay` has put together. Other lines are nobody's output. */
export class RelayedOutput {
  #rest = "";

  *take(text: string): Generator<readonly [stream: 1 | 2, piece: Buffer]> {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() as string).slice(0, MAX_LINE_CHARS);
    for (const line of lines) {
      if (!/^[12][A-Za-z0-9+/]+=*$/.test(line)) continue;
      yield [line.startsWith("1") ? 1 : 2, Buffer.from(line.slice(1), "base64")];
    }
  }
}
