import { RELAY_SHELL } from "../channel/relayed-output.ts";

/**
 * What is run in the machine, in the shell that every image has. `$0` and the rest are given as arguments, never put
 * into the text. All but the program itself is run as root; the program is a user of its own, without any right.
 */

export const FOLDERS = {
  work: "/work",
  home: "/home/guest",
  agents: "/agent",
  /** Where lines come in. */
  lines: "/airlock/in",
  /** Archives that wait for being unpacked. */
  packed: "/airlock/packed",
} as const;

/** How a script says that this machine cannot be used. */
export const UNFIT_EXIT = 64;
/** The kernel of this machine has ended a process for want of memory. */
export const OUT_OF_MEMORY_EXIT = 247;

/** `prepare <bytes> <files>`: the work area is a file system of its own, so that it is bounded. */
export const PREPARE = `
set -eu
for tool in setpriv prlimit unshare find tar gzip mount ${RELAY_SHELL.tools.join(" ")}; do
  command -v "$tool" >/dev/null || { echo "the image has no $tool" >&2; exit ${UNFIT_EXIT}; }
done
umask 022
mkdir -p /work /home/guest /agent /airlock/in /airlock/packed
mount -t tmpfs -o "size=$1,nr_inodes=$2,mode=0777,nosuid,nodev" airlock /work || exit ${UNFIT_EXIT}
chmod 0777 /airlock/in /airlock/packed /agent
grep '^oom_kill ' /proc/vmstat >/airlock/oom || true
`;

/**
 * `launch <uid> <pids> <bytes> <files> <targets> -- <agent's command>`: unpacks what was brought, one archive a target, hands the work
 * area over and becomes the agent. Descriptor 3 is the channel; what is printed past the agent is relayed. The program has
 * a pid namespace of its own: the vendor's processes are none of its business, and a script that waits is idle only where
 * all processes that it sees wait. The first process there is root's, so that it outlives the program by as long as it
 * takes to tell how that ended; what it would say of that itself is nobody's output.
 */
export const LAUNCH = `
set -eu
${RELAY_SHELL.text}
umask 022
uid=$1 pids=$2 disk=$3 files=$4
shift 4
number=0
while [ "$1" != "--" ]; do
  mkdir -p "$1"
  # What was given as a file is there already, and stays.
  cat "/airlock/packed/$number-"* | tar -xzf - -C "$1" --skip-old-files --no-same-owner --no-same-permissions
  rm -f "/airlock/packed/$number-"*
  number=$((number + 1))
  shift
done
shift
chown -R -h "$uid:$uid" /work
chmod 0755 /work /agent
cd /work
touch /airlock/born
echo 1000 >/proc/self/oom_score_adj || true
mkfifo /airlock/out /airlock/err
relay 1 /airlock/lock </airlock/out >/dev/null &
outs=$!
relay 2 /airlock/lock </airlock/err >/dev/null &
errs=$!
code=0
(exec prlimit "--nproc=$pids:$pids" --core=0:0 -- \\
  unshare --mount --pid --fork --kill-child --mount-proc -- \\
  sh -c '
    own=$1
    shift
    for area in /tmp /dev/shm /home/guest; do mount -t tmpfs -o "$own,nosuid,nodev" airlock $area || exit ${UNFIT_EXIT}; done
    exec 6>&2 2>/dev/null
    (exec "$@" 2>&6 6>&-)
    exit $?' sh "size=$disk,nr_inodes=$files,mode=0755,uid=$uid,gid=$uid" \\
  setpriv --reuid "$uid" --regid "$uid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all -- \\
  env -i "PATH=$PATH" HOME=/home/guest LANG=C.UTF-8 TZ=UTC TMPDIR=/tmp "$@" \\
  3>&1 >/airlock/out 2>/airlock/err </dev/null) || code=$?
wait $outs $errs
[ "$(grep '^oom_kill ' /proc/vmstat || :)" = "$(cat /airlock/oom)" ] || code=${OUT_OF_MEMORY_EXIT}
exit $code
`;

/** `end <uid>`: one signal for all that this user runs, forks under way included; twice, to see that it is so. */
export const END = `
setpriv --reuid "$1" --regid "$1" --clear-groups sh -c 'kill -9 -1; kill -9 -1' 2>/dev/null
exit 0
`;

/**
 * `collect <uid>`: type, links, size and name of all that is no folder and has changed since the start. What the guest
 * left running ends first, so that nothing changes between the list and the reading.
 */
export const COLLECT = `
${END.replace("exit 0", "")}
find /work -xdev -mindepth 1 ! -type d -cnewer /airlock/born -printf '%y %n %s %P\\0'
chmod -R a+rX /work
`;
