import type { Settlement } from "./port.ts";

/** What a guest's glue reads of an outcome: the result's own JSON goes in as it is. */
export function settlementText({ id, result, meta }: Settlement): string {
  const told = result.ok
    ? `"ok":true${result.value === null ? "" : `,"value":${result.value}`}`
    : `"ok":false,"code":${JSON.stringify(result.code)},"message":${JSON.stringify(result.message)}`;
  return `{"id":${id},${told},"meta":${JSON.stringify(meta)}}`;
}
