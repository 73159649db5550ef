/** Shell programs that try a container's walls from within, and say what they found on the guest channel. */

import { ALL_PROGRAMS } from "./agents.ts";

/** Each line: what, and what it is. */
export const LOOK = `
exec >&4
for status in CapEff CapBnd NoNewPrivs Seccomp; do
  while read -r key value; do [ "$key" = "$status:" ] && echo "$status $value"; done </proc/self/status
done
echo "uid $(id -u)"
while read -r name rest; do case $name in *:) echo "interface $name" ;; esac; done </proc/net/dev
tail -n +2 /proc/net/route | while read -r route; do echo "route $route"; done
for folder in / /usr /etc /var; do (: >"$folder/probe") 2>/dev/null && echo "writable $folder"; done
[ -S /var/run/docker.sock ] && echo "socket /var/run/docker.sock"
for file in /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us; do
  [ -r "$file" ] && { read -r quota rest <"$file"; echo "cpu $quota"; }
done
case $(uname -m) in aarch64) unshare=97 ;; *) unshare=272 ;; esac
perl -e "exit(syscall($unshare, 0x10000000) == 0)" && echo "namespace refused" || echo "namespace made"
for program in ${ALL_PROGRAMS.join(" ")}; do "$program" --version >/dev/null 2>&1 && echo "program $program"; done
echo "looked yes"
`;

/** A second of nothing but computing. */
export const TAKE_CPU = `
exec >&4
perl -e 'my $end = time + 2; 1 while time < $end'
`;

/** Says "begun", and "taken" only where nothing held it back. */
export const takeMemory = (bytes: number): string => `
exec >&4
echo "begun yes"
[ "$(head -c ${bytes} /dev/zero | tail -c ${bytes} | wc -c)" = ${bytes} ] && echo "taken all"
`;

export const takeProcesses = (count: number): string => `
exec >&4
echo "begun yes"
n=0
while [ $n -lt ${count} ]; do sleep 60 & n=$((n + 1)); done
echo "taken all"
`;

export const takeDisk = (bytes: number): string => `
exec >&4
echo "begun yes"
head -c ${bytes} /dev/zero >/work/big && echo "taken all"
`;

export const takeFiles = (count: number): string => `
exec >&4
echo "begun yes"
n=0
while [ $n -lt ${count} ]; do (: >"/work/$n") || exit 1; n=$((n + 1)); done
echo "taken all"
`;
