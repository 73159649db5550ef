import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { cacheExchange, Client, fetchExchange, type OperationResult, subscriptionExchange } from "@urql/core";
import { createClient as createSseClient } from "graphql-sse";
import { createClient as createWsClient } from "graphql-ws";
import { OperationTypeNode } from "graphql";
import { WebSocket } from "ws";

type Variables = Record<string, unknown>;

/** A client that others wrote, put together as its documentation says. */
export interface OtherClient {
  query<T>(document: string, variables?: Variables): Promise<T>;
  mutate<T>(document: string, variables?: Variables): Promise<T>;
  /** Calls back with each answer, and resolves when the stream is complete. */
  subscribe<T>(document: string, variables: Variables, onAnswer: (data: T) => void): Promise<void>;
  stop(): void;
}

interface Place {
  readonly url: string;
  readonly key: string;
}

const webSockets = ({ url, key }: Place) =>
  createWsClient({
    url: url.replace("http", "ws"),
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
  });

export const OTHER_CLIENTS: Record<string, (place: Place) => OtherClient> = {
  "urql over graphql-sse": (place) => {
    const events = createSseClient({ url: place.url, headers: { authorization: `Bearer ${place.key}` } });
    const exchange = subscriptionExchange({
      forwardSubscription: ({ query = "", variables }) => ({
        subscribe: (sink) => ({ unsubscribe: events.subscribe({ query, variables: variables ?? {} }, sink as never) }),
      }),
    });
    return urql(place, { exchanges: [cacheExchange, fetchExchange, exchange] }, () => events.dispose());
  },
  "urql over graphql-ws": (place) => {
    const sockets = webSockets(place);
    const exchange = subscriptionExchange({
      forwardSubscription: ({ query = "", variables }) => ({
        subscribe: (sink) => ({ unsubscribe: sockets.subscribe({ query, variables: variables ?? {} }, sink as never) }),
      }),
    });
    return urql(place, { exchanges: [cacheExchange, fetchExchange, exchange] }, () => void sockets.dispose());
  },
  "urql with nothing but fetch": (place) =>
    urql(place, { exchanges: [cacheExchange, fetchExchange], fetchSubscriptions: true }, () => undefined),
  "Apollo Client over graphql-ws": apollo,
};

type UrqlOptions = Pick<ConstructorParameters<typeof Client>[0], "exchanges" | "fetchSubscriptions">;

function urql({ url, key }: Place, options: UrqlOptions, stop: () => void): OtherClient {
  const client = new Client({ url, fetchOptions: { headers: { authorization: `Bearer ${key}` } }, ...options });
  const read = <T>({ data, error }: OperationResult): T => {
    if (error) throw error;
    return data as T;
  };
  return {
    query: async (document, variables = {}) =>
      read(await client.query(document, variables, { requestPolicy: "network-only" })),
    mutate: async (document, variables = {}) => read(await client.mutation(document, variables)),
    subscribe: (document, variables, onAnswer) =>
      new Promise((resolve, reject) => {
        client.subscription(document, variables).subscribe((result) => {
          if (result.error) reject(result.error);
          // It tells the end by giving the last answer once more.
          else if (result.hasNext) onAnswer(result.data as never);
          else resolve();
        });
      }),
    stop,
  };
}

function apollo(place: Place): OtherClient {
  const sockets = webSockets(place);
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new GraphQLWsLink(sockets),
      new HttpLink({ uri: place.url, headers: { authorization: `Bearer ${place.key}` } }),
    ),
  });
  return {
    query: async (document, variables = {}) =>
      (await client.query({ query: gql(document), variables, fetchPolicy: "network-only" })).data as never,
    mutate: async (document, variables = {}) =>
      (await client.mutate({ mutation: gql(document), variables })).data as never,
    subscribe: (document, variables, onAnswer) =>
      new Promise((resolve, reject) => {
        client.subscribe({ query: gql(document), variables }).subscribe({
          next: ({ data, error }) => (error ? reject(error) : onAnswer(data as never)),
          error: reject,
          complete: resolve,
        });
      }),
    stop: () => {
      client.stop();
      void sockets.dispose();
    },
  };
}
