import type Docker from "dockerode";
import { runInside } from "./engine.ts";

/**
 * What lives, with its parent, but for the shell that looks. From `status`, where a process cannot write its name into
 * another line (one whose first thread has ended calls itself a zombie, and its other threads run on); by root, whom no process of the guest can hinder, with programs that the guest cannot change.
 */
const LIVING = `for folder in /proc/[0-9]*; do
  state= parent= threads=
  while read -r key value rest; do
    case $key in State:) state=$value ;; PPid:) parent=$value ;; Threads:) threads=$value ;; esac
  done <"$folder/status" || continue
  case $state$threads in Z1 | Z0 | Z | X*) continue ;; esac
  [ "$folder" = "/proc/$$" ] || echo "\${folder#/proc/} $parent"
done 2>/dev/null`;

/** How many processes there are beside the engine's init and its only child, the keeper. */
export async function countLeftRunning(container: Docker.Container): Promise<number> {
  const listed = await runInside(container, ["/bin/sh", "-c", LIVING], null, { user: "0:0" });
  const lines = listed.toString().trim().split("\n");
  const strangers = lines.filter((line) => !line.startsWith("1 "));
  const keeper = strangers.findIndex((line) => line.endsWith(" 1"));
  return keeper < 0 ? strangers.length : strangers.length - 1;
}
