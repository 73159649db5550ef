import type { Scope } from "@airlock/shared/db";
import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from "@pothos/core";
import type { GraphQLFieldResolver } from "graphql";
import type { RequestContext } from "../context.ts";
import { requireScope } from "../require-scope.ts";

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scope: ScopePlugin<Types>;
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      scope: Scope;
    }
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      scope: Scope;
    }
    interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > {
      scope: Scope;
    }
  }
}

const ROOTS = ["Query", "Mutation", "Subscription"];

/** Every way in declares the scope it needs; the schema cannot be built with one that does not. */
export class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (!ROOTS.includes(config.kind)) return config;
    const { scope } = config.pothosOptions as unknown as { scope?: Scope };
    if (scope === undefined) throw new Error(`${config.parentType}.${config.name} declares no scope`);
    return { ...config, extensions: { ...config.extensions, scope } };
  }

  override wrapResolve(resolve: Resolver<Types>, config: PothosOutputFieldConfig<Types>): Resolver<Types> {
    // A subscription is checked when it begins; its key's revocation ends it.
    return config.kind === "Query" || config.kind === "Mutation" ? checked(resolve, config) : resolve;
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    config: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe && config.kind === "Subscription" ? checked(subscribe, config) : subscribe;
  }
}

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types["Context"], object>;

function checked<Types extends SchemaTypes>(
  resolve: Resolver<Types>,
  config: PothosOutputFieldConfig<Types>,
): Resolver<Types> {
  const scope = config.extensions?.["scope"] as Scope;
  return (parent, args, context, info) => {
    requireScope((context as unknown as RequestContext).caller, scope);
    return resolve(parent, args, context, info);
  };
}

export const scopePlugin = "scope" as const;
SchemaBuilder.registerPlugin(scopePlugin, ScopePlugin);
