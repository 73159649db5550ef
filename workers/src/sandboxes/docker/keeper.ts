/**
 * The shell that is every container's command, behind the engine's own init. It outlives the guest, whose files would
 * vanish with the last process, and takes orders on its standard input, a line each:
 *
 * - `boot <bytes> <file> <command…>`: that many bytes are the agent's source; runs it and, when it has ended, ends all
 *   other processes and says `\x04<exit code> <count of out-of-memory kills>\n`. While the agent runs, standard input
 *   and output are the guest channel, in which `\x04` never stands. SIGTERM ends the agent.
 * - `list`: all that is in the work area, each ended by NUL, and a NUL more.
 * - `get <bytes>`: that many bytes are paths, each ended by NUL; answers the content of these files.
 *
 * It is as much in the guest's hands as the agent is: nothing that it says is believed beyond the guest's own task.
 */
export const KEEPER = `
exec 5<&0 6>&1 7>&2 </dev/null >/dev/null 2>&1
cd /work || exit 70
trap '' TERM
ooms() {
  oom=0
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] && while read -r key count; do [ "$key" = oom_kill ] && oom=$count; done <"$file"
  done
}
while read -r order bytes file command <&5; do
  case $order in
    boot)
      head -c "$bytes" <&5 >"/agent/$file" || exit 71
      trap 'again=1; kill -s KILL -- -1' TERM
      env -i PATH="$PATH" HOME=/home/guest LANG=C.UTF-8 TZ=UTC TMPDIR=/tmp \\
        $command "/agent/$file" --in 3 --out 4 3</proc/self/fd/5 4>/proc/self/fd/6 >&7 2>&7 5<&- 6>&- 7>&- &
      while again=; wait $!; code=$?; [ -n "$again" ]; do :; done
      trap '' TERM
      while kill -s KILL -- -1; do :; done
      ooms
      printf '\\004%s %s\\n' "$code" "$oom" >&6 ;;
    list)
      find . -mindepth 1 \\( -type f ! -readable -printf 'u %s %C@ %i %P\\0' -o -printf '%y %s %C@ %i %P\\0' \\) >&6
      printf '\\0' >&6 ;;
    get)
      head -c "$bytes" <&5 | xargs -0 cat -- >&6 ;;
  esac
done
`;

/** The first character of the keeper's own words; the guest channel is printable ASCII. */
export const KEEPER_SAYS = 4;
