import type { FunctionRow } from "@airlock/shared/db";
import { listFunctions, removeFunction, setFunction } from "../../use-cases/functions.ts";
import { builder } from "../builder.ts";
import { PolicyModeType } from "../policy/enums.ts";
import { LanguageType } from "../task/enums.ts";

const FunctionType = builder.objectRef<FunctionRow>("Function").implement({
  description:
    "A stored program that the project's tasks call as `tools.<path>(input)`; it runs in a lease of its own.",
  fields: (t) => ({
    path: t.exposeString("path"),
    description: t.exposeString("description"),
    inputSchema: t.field({ type: "JSON", resolve: (row) => JSON.parse(row.input_schema) }),
    code: t.exposeString("code"),
    language: t.expose("language", { type: LanguageType }),
    environment: t.exposeString("environment"),
    mode: t.expose("mode", { type: PolicyModeType, description: "Below all policies of the project." }),
    timeoutMs: t.exposeInt("timeout_ms"),
    version: t.exposeString("version", { description: "Changes with all that decides what a call does." }),
    createdBy: t.exposeString("created_by", { description: "The name of the API key that stored it last." }),
    changedAt: t.expose("changed_at", { type: "DateTime" }),
  }),
});

const FunctionInputType = builder.inputType("FunctionInput", {
  fields: (t) => ({
    path: t.string({ required: true, description: "Names with dots between them, which no tool of the workers has." }),
    description: t.string({ required: true }),
    inputSchema: t.field({ type: "JSON", required: true, description: 'A JSON Schema with `"type": "object"`.' }),
    code: t.string({ required: true, description: "`input` is in scope; what it returns is the call's result." }),
    language: t.field({ type: LanguageType, description: "TYPESCRIPT where absent." }),
    environment: t.string({ description: "The project's default where absent." }),
    mode: t.field({ type: PolicyModeType, description: "AUTO (where absent) or REQUIRED." }),
    timeoutMs: t.int({ description: "30,000 where absent." }),
  }),
});

builder.queryFields((t) => ({
  functions: t.field({
    type: [FunctionType],
    scope: "read",
    description: "By path.",
    resolve: (_, _args, { app, caller }) => listFunctions(app, caller),
  }),
}));

builder.mutationFields((t) => ({
  setFunction: t.field({
    type: FunctionType,
    scope: "admin",
    description:
      "Stores a function, or replaces the one of its path; calls that wait for approval are asked about anew.",
    args: { input: t.arg({ type: FunctionInputType, required: true }) },
    resolve: (_, { input }, { app, caller }) => setFunction(app, caller, input),
  }),
  removeFunction: t.field({
    type: "Boolean",
    scope: "admin",
    args: { path: t.arg.string({ required: true }) },
    resolve: (_, { path }, { app, caller }) => removeFunction(app, caller, path),
  }),
}));
