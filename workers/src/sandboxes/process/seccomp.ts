/**
 * The system call filter of a sandbox, as the bytes that bubblewrap hands to the kernel. What is left out of reach is
 * what a program without capabilities in its own namespaces does not need: a kernel has most of its holes there.
 */

/** Classic BPF: code, jump if true, jump if false, constant. */
type Instruction = readonly [code: number, jt: number, jf: number, k: number];

const LOAD = 0x20;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const errno = (code: number) => 0x0005_0000 | code;
const EPERM = errno(1);
const ENOSYS = errno(38);
const EAFNOSUPPORT = errno(97);

/** Offsets in `struct seccomp_data`; an argument's low half comes first on both machines. */
const NUMBER = 0;
const ARCH = 4;
const argument = (index: number) => 16 + 8 * index;

interface Machine {
  readonly arch: number;
  readonly denied: readonly number[];
  readonly clone: number;
  readonly personality: number;
  readonly socket: number;
  readonly ioctl: number;
  /** Numbers from here on belong to another calling convention (x32). */
  readonly foreignFrom: number | null;
}

/** The same on every machine since Linux 5. */
const COMMON = [
  ...[425, 426, 427], // io_uring
  ...[428, 429, 430, 431, 432, 433, 442, 467], // the new mount calls
  ...[438, 440, 443], // pidfd_getfd, process_madvise, quotactl_fd
];
const CLONE3 = 435;

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    arch: 0xc000_003e,
    denied: [
      ...[165, 166, 155, 161, 272, 308], // mount, umount2, pivot_root, chroot, unshare, setns
      ...[101, 310, 311, 312], // ptrace, process_vm_readv, process_vm_writev, kcmp
      ...[321, 298, 323, 300], // bpf, perf_event_open, userfaultfd, fanotify_init
      ...[250, 248, 249], // keyctl, add_key, request_key
      ...[246, 320, 174, 175, 313, 176, 177, 178, 169], // kexec, modules, reboot
      ...[303, 304, 163, 167, 168, 170, 171, 103, 179, 212, 153, 180], // file handles, acct, swap, host names, syslog, quota
      ...[172, 173, 154, 134, 136, 139, 156, 164, 227, 305, 159], // ports, segments, old calls, the clock
      ...[237, 238, 256, 279], // memory policies
    ],
    clone: 56,
    personality: 135,
    socket: 41,
    ioctl: 16,
    foreignFrom: 0x4000_0000,
  },
  arm64: {
    arch: 0xc000_00b7,
    denied: [
      ...[40, 39, 41, 51, 97, 268],
      ...[117, 270, 271, 272],
      ...[280, 241, 282, 262],
      ...[219, 217, 218],
      ...[104, 294, 105, 273, 106, 142],
      ...[264, 265, 89, 224, 225, 161, 162, 116, 60, 18, 58, 42],
      ...[170, 112, 266, 171],
      ...[235, 237, 238, 239],
    ],
    clone: 220,
    personality: 92,
    socket: 198,
    ioctl: 29,
    foreignFrom: null,
  },
};

const CLONE_NEW = 0x7e02_0000;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: others, vsock among them, know no network namespaces or have no use. */
const FAMILIES = [1, 2, 10, 16];
/** PER_LINUX, PER_LINUX32, and the question what it is. */
const PERSONALITIES = [0, 8, 0xffff_ffff];
/** TIOCSTI and TIOCLINUX: typing into a terminal. */
const IOCTLS = [0x5412, 0x541c];

/** Null where there is none for this machine. */
export function seccompFilter(machineName: string = process.arch): Buffer | null {
  const machine = MACHINES[machineName];
  if (machine === undefined) return null;
  const { arch, denied, clone, personality, socket, ioctl, foreignFrom } = machine;
  return encode([
    [LOAD, 0, 0, ARCH],
    [EQUAL, 1, 0, arch],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER],
    ...(foreignFrom === null ? [] : when([AT_LEAST, 0, 0, foreignFrom], [[RETURN, 0, 0, KILL]])),
    ...[...denied, ...COMMON].flatMap((call) => when([EQUAL, 0, 0, call], [[RETURN, 0, 0, EPERM]])),
    // Its arguments lie in memory, where a filter cannot look; told that there is no such call, libraries use clone.
    ...when([EQUAL, 0, 0, CLONE3], [[RETURN, 0, 0, ENOSYS]]),
    ...when([EQUAL, 0, 0, clone], judge(0, [[ANY_BIT, 0, 0, CLONE_NEW]], EPERM, ALLOW)),
    ...when([EQUAL, 0, 0, socket], judge(0, FAMILIES.map(equal), ALLOW, EAFNOSUPPORT)),
    ...when([EQUAL, 0, 0, personality], judge(0, PERSONALITIES.map(equal), ALLOW, EPERM)),
    ...when([EQUAL, 0, 0, ioctl], judge(1, IOCTLS.map(equal), EPERM, ALLOW)),
    [RETURN, 0, 0, ALLOW],
  ]);
}

function equal(value: number): Instruction {
  return [EQUAL, 0, 0, value];
}

/** `then` is done where the test holds, and must return. */
function when([code, , , k]: Instruction, then: readonly Instruction[]): Instruction[] {
  return [[code, 0, then.length, k], ...then];
}

/** Looks at an argument: one answer where any of the tests holds, another where none does. */
function judge(index: number, tests: readonly Instruction[], yes: number, no: number): Instruction[] {
  return [
    [LOAD, 0, 0, argument(index)],
    ...tests.flatMap((test) => when(test, [[RETURN, 0, 0, yes]])),
    [RETURN, 0, 0, no],
  ];
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(8 * program.length);
  for (const [i, [code, jt, jf, k]] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * i);
    bytes.writeUInt8(jt, 8 * i + 2);
    bytes.writeUInt8(jf, 8 * i + 3);
    bytes.writeUInt32LE(k >>> 0, 8 * i + 4);
  }
  return bytes;
}
