import { CallTool, GetToolTypes, ListTools, type Tool } from "./generated.ts";
import { createTaskHandle, type TaskHandle } from "./tasks/handle.ts";
import type { Transport } from "./transport.ts";

export interface Tools {
  /** Those whose path or description has every word of `search`. */
  list(search?: string): Promise<readonly Tool[]>;
  /** TypeScript declarations of `tools` and `input`, ready for a model's prompt. */
  types(search?: string): Promise<string>;
  /** One call as a task. Not repeated when the answer is lost: the call may have happened. */
  call<Output = unknown>(path: string, input: unknown): Promise<TaskHandle<Output>>;
}

export function createTools(transport: Transport): Tools {
  const { once, patiently } = transport;
  return {
    list: async (search) => (await patiently(ListTools, { search })).tools,
    types: async (search) => (await patiently(GetToolTypes, { search })).toolTypes,
    async call<Output>(path: string, input: unknown) {
      const { callTool } = await once(CallTool, { path, input });
      return createTaskHandle<Output>(transport, callTool.id);
    },
  };
}
