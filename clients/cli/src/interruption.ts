/** Takes over Ctrl-C when it is first asked for: the first one aborts the signal, the second ends the program. */
export function createInterruption(): () => AbortSignal {
  let controller: AbortController | null = null;
  return () => {
    if (controller !== null) return controller.signal;
    const made = new AbortController();
    controller = made;
    process.once("SIGINT", () => made.abort(new Error("interrupted")));
    return made.signal;
  };
}
