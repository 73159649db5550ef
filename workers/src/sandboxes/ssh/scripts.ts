import { RELAY_SHELL } from "../channel/relayed-output.ts";

/**
 * What runs on the machine, outside of the sandbox: put there once, by hash, and called with words alone. Plain `sh`,
 * with what util-linux and bubblewrap bring.
 */

/** The exit codes of `run.sh` that are no program's. */
export const EXITS = { outOfMemory: 247, unfit: 246 } as const;
/** A program that ends with a larger one is said to have ended with this. */
const LARGEST_EXIT = 239;

/** Where all of it lies, in the home folder of the user over there. */
export const HOME_FOLDER = ".airlock";

/** Sourced by the others: the machine's ways to bound memory and processes, and the names of things. */
const LIBRARY = `
set -eu
umask 077
here=$(cd "$(dirname "$0")" && pwd)
leases=$HOME/${HOME_FOLDER}/leases
old=/sys/fs/cgroup
# Where this machine keeps its groups: 1, 2, user (systemd for this user), or none.
groups() {
  if [ "$(id -u)" = 0 ] && [ -w $old/memory/cgroup.procs ] && [ -w $old/pids/cgroup.procs ]; then echo 1
  elif [ "$(id -u)" = 0 ] && [ -w $old/cgroup.subtree_control ] && \\
    grep -q memory $old/cgroup.controllers && grep -q pids $old/cgroup.controllers; then echo 2
  elif systemd-run --user --scope --quiet -p MemoryMax=64M -p TasksMax=16 true 2>/dev/null; then echo user
  else echo none; fi
}
# enter <group> <name> <memory> <pids> <cpu percent> <command...>: becomes the command, bounded.
enter() {
  group=$1 name=$2 memory=$3 pids=$4 cpu=$5
  shift 5
  case $group in
    1)
      mkdir -p $old/memory/$name $old/pids/$name
      echo "$memory" >$old/memory/$name/memory.limit_in_bytes
      echo "$memory" >$old/memory/$name/memory.memsw.limit_in_bytes 2>/dev/null || :
      echo "$pids" >$old/pids/$name/pids.max
      # 0 is whoever writes it: $$ would be this shell's parent.
      echo 0 >$old/memory/$name/cgroup.procs
      echo 0 >$old/pids/$name/cgroup.procs
      if [ -w $old/cpu/cgroup.procs ]; then
        mkdir -p $old/cpu/$name
        if echo $((cpu * 1000)) >$old/cpu/$name/cpu.cfs_quota_us; then echo 0 >$old/cpu/$name/cgroup.procs; fi
      fi ;;
    2)
      echo "+memory +pids" >$old/cgroup.subtree_control
      echo "+cpu" >$old/cgroup.subtree_control 2>/dev/null || :
      mkdir -p $old/$name
      echo "$memory" >$old/$name/memory.max
      echo 0 >$old/$name/memory.swap.max 2>/dev/null || :
      echo "$pids" >$old/$name/pids.max
      echo "$((cpu * 1000)) 100000" >$old/$name/cpu.max 2>/dev/null || :
      echo 0 >$old/$name/cgroup.procs ;;
    user)
      exec systemd-run --user --scope --quiet --collect "--unit=$name" -p "MemoryMax=$memory" -p MemorySwapMax=0 \\
        -p "TasksMax=$pids" -p "CPUQuota=$cpu%" -- "$@" ;;
  esac
  exec "$@"
}
# was_killed <group> <name>: whether the kernel has ended something in it for want of memory.
was_killed() {
  case $1 in
    1) grep -q '^oom_kill [1-9]' $old/memory/$2/memory.oom_control ;;
    2) grep -q '^oom_kill [1-9]' $old/$2/memory.events ;;
    user) grep -q '^oom_kill [1-9]' "$old$(sed -n 's/^0:://p' /proc/self/cgroup)/memory.events" ;;
    *) return 1 ;;
  esac
}
leave() {
  for folder in $old/memory/$1 $old/pids/$1 $old/cpu/$1 $old/$1; do
    tries=0
    while [ -d "$folder" ] && ! rmdir "$folder" 2>/dev/null && [ $tries -lt 100 ]; do
      tries=$((tries + 1))
      sleep 0.02
    done
  done
}
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
`;

/**
 * `run.sh <lease> <group> <memory> <pids> <cpu percent> <seconds> <bytes of each archive> <disk> <files>
 * <user> <program> <agent>`. Its input is
 * the archives (what is in the lease's folder, then the layers), then the guest's lines. In a pid and mount namespace of
 * its own, so that one signal ends it all.
 */
const RUN = `
. "$(dirname "$0")/library.sh"
lease=$leases/$1
mkdir -p "$leases"
mkdir "$lease"
echo "$$ $(started $$)" >"$lease/pid"
if [ "$(id -u)" = 0 ]; then own=; else own="--user --map-root-user"; fi
exec unshare $own --mount --pid --fork --kill-child --mount-proc -- sh "$here/inside.sh" "$lease" "$@"
`;

/** Where what the sandbox sees is put together, out of sight of the machine: a place whose every folder can be entered. */
export const VIEW = "/mnt/airlock";

const INSIDE = `
lease=$1
shift
. "$(dirname "$0")/library.sh"
${RELAY_SHELL.text}
id=$1 group=$2 memory=$3 pids=$4 cpu=$5 seconds=$6 archives=$7 disk=$8 files=$9
user=\${10} program=\${11} agent=\${12}
name=airlock-$id
view=${VIEW}
# A scope of systemd's was entered before: see start.sh.
into=$group
[ "$group" = user ] && into=none
unfit() { echo "it cannot be prepared: $1" >&2; exit ${EXITS.unfit}; }
mount -t tmpfs -o mode=0755,size=8m airlock /mnt || unfit "no file system can be mounted"
mkdir -p $view/work $view/home $view/tmp $view/shm $view/layers
chmod 0755 $view $view/layers
for area in work home tmp shm; do
  mount -t tmpfs -o "size=$disk,nr_inodes=$files,mode=0755,nosuid,nodev" airlock $view/$area || unfit "no work area"
done
: >$view/node
mount --bind "$(cat "$here/node")" $view/node || unfit "Node"
mkdir $view/agent
cat "$here/$agent" >"$view/agent/$agent"
chmod -R a+rX $view/agent
printf '\nairlock %s\n' "$id"
number=0
for bytes in $(echo "$archives" | tr , ' '); do
  target=$view
  if [ $number -gt 0 ]; then
    target=$view/layers/$number
    mkdir -p "$lease/layers/$number" $target
    mount --bind "$lease/layers/$number" $target
  fi
  head -c "$bytes" | tar -x -f - -C $target --no-same-owner
  number=$((number + 1))
done
as=
if [ "$(id -u)" = 0 ] && [ "$user" != 0 ]; then
  chown -R -h "$user:$user" $view/work $view/home $view/tmp $view/shm
  as="setpriv --reuid $user --regid $user --clear-groups --"
fi
chmod -R a+rX $view/layers
mkfifo "$lease/lines"
: >"$lease/born"
mkfifo "$lease/out" "$lease/err"
relay 1 "$lease/lock" <"$lease/out" >/dev/null &
outs=$!
relay 2 "$lease/lock" <"$lease/err" >/dev/null &
errs=$!
exec 5<&0
(enter "$into" "$name" "$memory" "$pids" "$cpu" timeout -s KILL "$seconds" $as \
  bwrap --args 8 sh -c 'exec "$@" 3<&0 0</dev/null' sh "$program" "/agent/$agent" --in 3 --out 4 \
  8<$view/walls 9<$view/filter <"$lease/lines" 4>&1 >"$lease/out" 2>"$lease/err" 5<&-) &
main=$!
# However the worker's side ends, nobody is left to run for.
{ cat || :; kill -9 $main; } <&5 >"$lease/lines" 2>/dev/null &
# Descriptor 2 is the program's from here on: the shell would say there how it ended.
exec 5<&- 2>/dev/null
code=0
wait $main || code=$?
wait $outs $errs || :
was_killed "$group" "$name" && code=${EXITS.outOfMemory}
[ $code -gt ${LARGEST_EXIT} ] && [ $code -ne ${EXITS.outOfMemory} ] && code=${LARGEST_EXIT}
if [ -n "$(find $view/work -mindepth 1 ! -type d -cnewer "$lease/born" -print -quit)" ]; then
  node "$here/collect.cjs" $view/work "$lease/born" "$disk" >"$lease/outputs" || rm -f "$lease/outputs"
fi
leave "$name"
exit $code
`;

/** `start.sh <arguments of run.sh>`: a scope of systemd's is entered from outside of all namespaces. */
const START = `
. "$(dirname "$0")/library.sh"
if [ "$2" = user ]; then enter user "airlock-$1" "$3" "$(($4 + 16))" "$5" sh "$here/run.sh" "$@"; fi
exec sh "$here/run.sh" "$@"
`;

/** What the worker must know of the machine, a line each. */
const FACTS = `
. "$(dirname "$0")/library.sh"
for tool in ${RELAY_SHELL.tools.join(" ")} bwrap unshare setpriv mount timeout tar head find node; do
  command -v $tool >/dev/null || { echo "the machine has no $tool" >&2; exit 1; }
done
case $HOME/ in /mnt/*) echo "the home folder is below /mnt, which sandboxes have for themselves" >&2; exit 1 ;; esac
# Looked for once: Node takes longer to say so than all that comes before the guest.
node -p 'fs.realpathSync(process.execPath)' >"$here/node.$$"
mv "$here/node.$$" "$here/node"
echo "arch $(node -p process.arch)"
if [ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ]; then echo "python yes"; fi
echo "user $(id -u)"
echo "group $(groups)"
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L /$name ]; then echo "link $name $(readlink /$name)"
  elif [ -d /$name ]; then echo "folder $name"; fi
done
`;

const OUTPUTS = `
. "$(dirname "$0")/library.sh"
[ -f "$leases/$1/outputs" ] || exit 0
exec cat "$leases/$1/outputs"
`;

/** `destroy.sh <lease>`: safe where it is gone, in part or in full, and where its number belongs to another by now. */
const DESTROY = `
. "$(dirname "$0")/library.sh"
lease=$leases/$1
[ -d "$lease" ] || exit 0
if read -r pid start <"$lease/pid" && [ "$(started "$pid")" = "$start" ]; then
  kill -9 "$pid" 2>/dev/null || :
  tries=0
  while [ "$(started "$pid")" = "$start" ] && [ $tries -lt 250 ]; do tries=$((tries + 1)); sleep 0.02; done
fi
leave "airlock-$1"
rm -rf "$lease"
`;

const LEASES = `
. "$(dirname "$0")/library.sh"
[ -d "$leases" ] || exit 0
ls "$leases"
`;

/** Runs as the user over there, after every process of the guest has ended: nothing changes under it. */
const COLLECT = `
"use strict";
const { closeSync, constants, fstatSync, lstatSync, openSync, readSync, readdirSync, statSync, writeSync } = require("node:fs");
const [root, born, limit] = process.argv.slice(2);
const since = statSync(born, { bigint: true }).ctimeNs;
let room = Number(limit);
const write = (bytes) => { for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at); };
const tell = (entry) => write(Buffer.from(JSON.stringify(entry) + "\\n"));
function visit(folder, prefix) {
  for (const raw of readdirSync(folder, { encoding: "buffer" }).sort(Buffer.compare)) {
    const name = raw.toString();
    const path = prefix + name;
    const file = Buffer.concat([folder, Buffer.from("/"), raw]);
    const stat = lstatSync(file, { bigint: true });
    if (stat.isDirectory()) { visit(file, path + "/"); continue; }
    if (stat.ctimeNs <= since) continue;
    const size = Number(stat.size);
    if (!stat.isFile()) tell({ path, left: "it is no regular file" });
    else if (stat.nlink > 1n) tell({ path, left: "it has other names" });
    else if (!Buffer.from(name).equals(raw)) tell({ path, left: "its name is no text" });
    else if (stat.blocks * 512n < stat.size) tell({ path, left: "it has holes" });
    else if (size > room) tell({ path, left: "there is no room for it" });
    else copy(file, path, size);
  }
}
function copy(file, path, size) {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  const buffer = Buffer.alloc(65536);
  tell({ path, size });
  room -= size;
  for (let left = size; left > 0; ) {
    const got = readSync(fd, buffer, 0, Math.min(left, buffer.length), null);
    if (got === 0) { write(Buffer.alloc(left)); break; }
    write(buffer.subarray(0, got));
    left -= got;
  }
  closeSync(fd);
}
visit(Buffer.from(root), "");
`;

export const REMOTE_FILES: Readonly<Record<string, string>> = {
  "library.sh": LIBRARY,
  "start.sh": START,
  "run.sh": RUN,
  "inside.sh": INSIDE,
  "facts.sh": FACTS,
  "outputs.sh": OUTPUTS,
  "destroy.sh": DESTROY,
  "leases.sh": LEASES,
  "collect.cjs": COLLECT,
};
