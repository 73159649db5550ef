/** A GraphQL document with the types of what it takes and what it answers; `types` is never there at run time. */
export interface Operation<Data, Variables> {
  readonly text: string;
  readonly types?: { readonly data: Data; readonly variables: Variables };
}
