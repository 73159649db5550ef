export interface ApiFailure {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: string; readonly retryable: boolean; readonly correlationId?: string };
}

export interface Answer<T> {
  readonly status: number;
  readonly data?: T | null;
  readonly errors?: readonly ApiFailure[];
}

export interface Client {
  send<T = unknown>(query: string, variables?: unknown): Promise<Answer<T>>;
  /** Throws where there are errors. */
  data<T>(query: string, variables?: unknown): Promise<T>;
  /** The first error's code and message; throws where there is none. */
  failure(query: string, variables?: unknown): Promise<{ code: string; message: string; retryable: boolean }>;
  /** Any bytes as the body, or none. */
  raw(init: RequestInit & { readonly path?: string; readonly duplex?: "half" }): Promise<Response>;
}

export function createClient(url: string, key: string | null): Client {
  const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };

  async function send<T>(query: string, variables?: unknown): Promise<Answer<T>> {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization },
      body: JSON.stringify({ query, variables }),
    });
    return { status: response.status, ...((await response.json()) as Omit<Answer<T>, "status">) };
  }

  return {
    send,
    async data<T>(query: string, variables?: unknown) {
      const answer = await send<T>(query, variables);
      if (answer.errors || !answer.data) throw new Error(JSON.stringify(answer.errors));
      return answer.data;
    },
    async failure(query, variables) {
      const answer = await send(query, variables);
      const [error] = answer.errors ?? [];
      if (!error) throw new Error(`no error in ${JSON.stringify(answer)}`);
      return { code: error.extensions.code, message: error.message, retryable: error.extensions.retryable };
    },
    raw: ({ path = "/graphql", headers, ...init }) =>
      fetch(url + path, { ...init, headers: { ...authorization, ...(headers as Record<string, string>) } }),
  };
}
