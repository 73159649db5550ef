import { z } from "zod";

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      inBundle: z.boolean().optional(),
    }),
  ),
});

/** npm takes out where a package of the registry comes from: what is left tells of another source. */
export function faultOfLock(text: string): string | null {
  const parsed = lockFile.safeParse(JSON.parse(text));
  if (!parsed.success) return "npm has written a lock that cannot be read";
  for (const [place, { resolved, integrity, link, inBundle }] of Object.entries(parsed.data.packages)) {
    if (place === "" || inBundle === true) continue;
    if (resolved !== undefined || link === true) return `${place} does not come from the registry`;
    if (integrity === undefined) return `the registry tells no hash of ${place}`;
  }
  return null;
}
