/**
 * Cuts what the guest prints past its agent into frames: which stream (1 byte), how long (4), and what. Written whole,
 * as all of it is shorter than a pipe takes at once, so that two streams go over one. Where the kernel does not tell what
 * a process does, an agent goes by its name: this one does nothing by itself.
 */
const RELAY =
  "my $stream = shift; $0 = 'cat'; while (my $n = sysread STDIN, my $piece, 4000) { syswrite STDOUT, pack('CN', $stream, $n) . $piece }";

/**
 * The shell that is every container's command, behind the engine's own init. It outlives the guest, whose files would
 * vanish with the last process, and takes orders on its standard input, a line each:
 *
 * - `boot <bytes> <file> <command…>`: that many bytes are the agent's source; runs it and, when it has ended, ends all
 *   other processes and says `\x04<exit code> <count of out-of-memory kills>\n`. While the agent runs, standard input
 *   and output are the guest channel, in which `\x04` never stands. SIGTERM ends the agent.
 * - `list`: all that is in the work area, each ended by NUL, and a NUL more.
 * - `get <bytes>`: that many bytes are paths, each ended by NUL; answers the content of these files.
 * - `rest <word>`: makes its own folder as it was at first, says `rests <word>` and takes the next order.
 * - `keep <word>`: says `kept <word>` and then only waits, whoever is at the other end of its standard input.
 *
 * It is as much in the guest's hands as the agent is: nothing that it says is believed beyond the guest's own task.
 */
/** The stream of the keeper's own frame after all that the guest printed: the engine hurries each of its two streams alone. */
export const BURIED = 3;

export const KEEPER = `
exec 5<&0 6>&1 7>&2 </dev/null >/dev/null 2>&1
cd /work && mkfifo /agent/1 /agent/2 || exit 70
trap '' TERM
ooms() {
  oom=0
  for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] && while read -r key count; do [ "$key" = oom_kill ] && oom=$count; done <"$file"
  done
}
relay() {
  exec perl -e "${RELAY.replaceAll("$", "\\$")}" "$1" <"/agent/$1" >&7 5<&- 6>&- 7>&-
}
bury() {
  tries=0
  while [ $tries -lt 500 ]; do
    left= tries=$((tries + 1))
    for process in /proc/[0-9]*; do
      process=\${process#/proc/} status=
      case $process in 1 | $$ | $out | $err) continue ;; esac
      read -r status <"/proc/$process/stat" || continue
      case \${status##*) } in Z* | X*) ;; *) kill -s KILL "$process" && left=1 ;; esac
    done
    [ -z "$left" ] && break
  done
  [ -n "$left" ] && kill -s KILL -- -1
  wait $out $err
  while kill -s KILL -- -1; do :; done
}
while read -r order bytes file command <&5; do
  case $order in
    boot)
      head -c "$bytes" <&5 >"/agent/$file" || exit 71
      relay 1 & out=$!
      relay 2 & err=$!
      trap 'again=1; kill -s KILL $agent' TERM
      env -i PATH="$PATH" HOME=/home/guest LANG=C.UTF-8 TZ=UTC TMPDIR=/tmp \\
        $command "/agent/$file" --in 3 --out 4 3</proc/self/fd/5 4>/proc/self/fd/6 >/agent/1 2>/agent/2 5<&- 6>&- 7>&- &
      agent=$!
      while again=; wait $agent; code=$?; [ -n "$again" ]; do :; done
      trap '' TERM
      bury
      ooms
      printf '\\${BURIED.toString(8).padStart(3, "0")}\\000\\000\\000\\001.' >&7
      printf '\\004%s %s\\n' "$code" "$oom" >&6 ;;
    list)
      find . -mindepth 1 \\( -type f ! -readable -printf 'u' -o -type f -links +1 -printf 'h' -o -printf '%y' \\) \\
        -printf ' %s %C@ %i %P\\0' >&6
      printf '\\0' >&6 ;;
    get)
      head -c "$bytes" <&5 | xargs -0 cat -- >&6 ;;
    rest)
      find /agent -mindepth 1 -delete &&
        mkfifo /agent/1 /agent/2 && printf 'rests %s\\n' "$bytes" >&6 ;;
    keep)
      printf 'kept %s\\n' "$bytes" >&6
      exec 5<&- 6>&- 7>&-
      while :; do sleep 86400; done ;;
  esac
done
`;

/** The first character of the keeper's own words; the guest channel is printable ASCII. */
export const KEEPER_SAYS = 4;
