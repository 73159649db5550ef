import { createRequire } from "node:module";
import type { BunGlobal } from "./bun.ts";
import { takeImportAt } from "../javascript/imports.ts";
import { type Program, unusedLabel } from "./program.ts";

/** The part of Bun's `BuildMessage` that says where. */
interface Place {
  readonly position?: { readonly line?: number } | null;
}

/**
 * As a module of TypeScript that Bun itself translates, so that the places in its errors are the author's. There is no
 * such file: what the program imports is looked for beside it all the same.
 */
export function compileInBun(bun: BunGlobal, code: string): Program {
  const file = `${process.cwd()}/task.ts`;
  const contents = toModule(new bun.Transpiler({ loader: "ts" }), code);
  bun.plugin({
    name: "task",
    setup: (build) => build.module(file, () => ({ contents, loader: "ts" })),
  });
  const loaded = createRequire(file)(file) as { readonly default: Program };
  return loaded.default;
}

/** Its first line is the author's first. */
function toModule(transpiler: InstanceType<BunGlobal["Transpiler"]>, code: string): string {
  const imports: string[] = [];
  const label = unusedLabel(code);
  for (let body = code; ;) {
    const text = `export default async (input, require) => { ${imports.join(" ")} ${label}: {${body}\nbreak ${label}; } };`;
    try {
      transpiler.transformSync(text);
      return text;
    } catch (error) {
      // What it reports of several faults is a list.
      const first = ((error as { errors?: readonly Error[] }).errors?.[0] ?? error) as Error & Place;
      const line = first.position?.line ?? 0;
      const rest = takeImportAt(body, line, imports);
      if (rest === null) {
        const told = new SyntaxError(first.message);
        told.stack = `SyntaxError: ${told.message}${line > 0 ? `\n    at task.ts:${line}` : ""}`;
        throw told;
      }
      body = rest;
    }
  }
}
