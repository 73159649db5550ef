import { existsSync } from "node:fs";
import path from "node:path";

/**
 * The engine's socket: the one that is named (a path, or `unix://` and a path), or the first of the usual places that
 * exists. An empty name is none.
 */
export function findSocket(named: string | undefined, runtimeFolder: string | undefined): string | null {
  if (named !== undefined) return named.replace(/^unix:\/\//, "") || null;
  const own = runtimeFolder === undefined ? [] : ["docker.sock", "podman/podman.sock"];
  const places = [
    ...own.map((file) => path.join(runtimeFolder as string, file)),
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
  ];
  return places.find((place) => existsSync(place)) ?? null;
}
