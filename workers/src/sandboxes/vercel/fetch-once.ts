/** The SDK asks again after any 5xx and any lost connection; an error of this name it lets through. */
class NotRepeated extends Error {
  override readonly name = "AbortError";
}

/**
 * A command whose start got no clear answer may run already, and a second one beside it would run the program twice
 * on one work area. So its request is not repeated; 429 is a clear answer.
 */
export function startCommandsOnce(inner: typeof fetch): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (init?.method !== "POST" || !/\/cmd(\?|$)/.test(url)) return inner(input, init);
    let response: Response;
    try {
      response = await inner(input, init);
    } catch (error) {
      throw new NotRepeated("it is not known whether the command was started", { cause: error });
    }
    if (response.status < 500) return response;
    throw new NotRepeated(`it is not known whether the command was started: status ${response.status}`);
  };
}
