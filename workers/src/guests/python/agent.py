"""
The guest agent for Python: runs one program beside itself, in one process, and speaks the guest channel
(workers/src/sandboxes/channel/protocol.ts). Standard library only, CPython 3.9 to 3.14, one file: it is all that a
sandbox has of Airlock.

Threads of the program take turns. One runs at a time, until it waits: for a call, a timer, a lock, another thread. So a
re-run takes the same turns, and when nobody can run the program is idle, which needs no counting and no polling.
"""

import sys
import os
import io
import time
import builtins
import _ast
import _json
import _random
import _thread

# What the program does to builtins, or to modules, reaches its own code and not this.
__builtins__ = dict(vars(builtins))
read, write, close, real_exit, getpid = os.read, os.write, os.close, os._exit, os.getpid
open_file, list_folder, unlink = io.open, os.listdir, os.unlink
monotonic, wall, real_sleep = time.monotonic, time.time, time.sleep
RawLock, RawRLock, ident = _thread.allocate_lock, _thread.RLock, _thread.get_ident
start_thread = _thread.start_new_thread

TASK_FILE = "task.py"
OUTPUT_CHARS = 32 * 1024  # of 64 Ki UTF-16 units, and a character has up to two
CALL_INPUT_CHARS = 1024 * 1024
CALL_PATH_CHARS = 256
MESSAGE_CHARS = 8 * 1024
STACK_CHARS = 32 * 1024
STACK_FRAMES = 40
STEP_NS = 10_000
MS = 1_000_000
LONGEST_TIMER_NS = (2**31 - 1) * MS
SPINS = 1000
WATCH_S = 0.02
GONE = 70  # the exit code where nobody listens any more

CALL_ERRORS = frozenset(
    (
        "TOOL_FAILED",
        "TOOL_DENIED",
        "TOOL_TIMEOUT",
        "UNKNOWN_TOOL",
        "BAD_TOOL_INPUT",
        "APPROVAL_DENIED",
        "APPROVAL_EXPIRED",
        "CALL_OUTCOME_UNKNOWN",
    )
)
NEVER_GOES_ON = (
    "the program waits for something that nothing can give it any more: no timer and no call is pending"
)


# JSON, by the C functions that the json module uses: nothing that a program may patch is in between.


class ScannerOptions:
    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = {}

    @staticmethod
    def parse_constant(name):
        raise ValueError(name + " is not JSON")


scan = _json.make_scanner(ScannerOptions)
quote_ascii = _json.encode_basestring_ascii


def refuse_value(value):
    raise TypeError("a value of type " + type(value).__name__ + " is not JSON")


def parse_json(text):
    try:
        return scan(text.strip(" \t\r\n"), 0)[0]
    except StopIteration:
        raise ValueError("not JSON") from None


def to_json(value, quote=_json.encode_basestring):
    encode = _json.make_encoder({}, refuse_value, quote, None, ":", ",", False, False, False)
    text = "".join(encode(value, 0))
    if quote is not quote_ascii and not is_text(text):
        return to_json(value, quote_ascii)
    return text


def is_text(text):
    """False where it has a surrogate."""
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


def units(text):
    """Its length as JavaScript counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text, chars):
    if len(text) <= chars:
        return text
    return text[:chars] + "… (" + str(len(text)) + " characters)"


def headroom(frames=40):
    """Raises RecursionError here, and not where it would leave the agent half-way."""
    if frames:
        headroom(frames - 1)


# The channel.


def keep_descriptor(fd):
    """Out of the way of programs that close or reuse small numbers, and of their child processes."""
    import fcntl

    for lowest in (1000, 500, 200, 60, 20):
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            pass
    os.set_inheritable(fd, False)
    return fd


class Channel:
    def __init__(self, source, folder, sink):
        self.lock = RawRLock()
        self.taken = 0  # lines of the worker
        kept = {fd: keep_descriptor(fd) for fd in {source, sink} if fd is not None}
        for fd, now in kept.items():
            if now == fd:
                continue
            if fd > 2:
                close(fd)
            else:
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, fd)
                close(nothing)
        self.sink = kept[sink]
        self.source = kept.get(source)
        self.folder = folder
        self.number = 1
        self.inotify = None
        self.kick_in = self.kick_out = None
        self.pieces = []
        self.lines = []
        if folder is not None:
            self.inotify = watch_folder(folder)

    def say(self, *message):
        self.put(to_json(message, quote_ascii))

    def put(self, line):
        left = memoryview((line + "\n").encode("ascii"))
        with self.lock:
            while left:
                try:
                    left = left[write(self.sink, left) :]
                except BlockingIOError:
                    real_sleep(0.001)
                except OSError:
                    real_exit(GONE)

    def next(self):
        """The first line that is here, still to be taken with `take`, or None."""
        if self.folder is not None and not self.lines:
            self.look()
        return self.lines[0] if self.lines else None

    def take(self):
        self.lines.pop(0)
        self.taken += 1

    def look(self):
        for name in ("%06d.json" % self.number, str(self.number)):
            path = self.folder + "/" + name
            try:
                with open_file(path, encoding="ascii") as file:
                    text = file.read()
            except OSError:
                continue
            if not text.endswith("\n") and not name.endswith(".json"):
                return
            self.number += 1
            self.lines.append(parse_json(text))
            try:
                unlink(path)
            except OSError:
                pass
            return

    def fill(self):
        try:
            piece = read(self.source, 1 << 18)
        except BlockingIOError:
            real_sleep(0.001)
            return
        except OSError:
            piece = b""
        if not piece:
            real_exit(GONE)
        first, *more = piece.split(b"\n")
        self.pieces.append(first)
        for part in more:
            self.lines.append(parse_json(b"".join(self.pieces).decode("ascii")))
            self.pieces = [part]

    def wait(self, timeout, fds):
        """Until a line may be here, one of `fds` is ready, `kick` was called or the time is up. Gives who is ready."""
        if self.source is not None and timeout is None and not fds and self.kick_in is None:
            self.fill()
            return ()
        import select

        poll = select.poll()
        own = self.source if self.folder is None else self.inotify
        for fd in (own, self.kick_in, *fds):
            if fd is not None:
                poll.register(fd, select.POLLIN)
        if self.folder is not None:
            # Where nothing tells of new files; and now and then where something does.
            sparse = 0.02 if self.inotify is None else 5
            timeout = sparse if timeout is None else min(timeout, sparse)
        ready = [fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000 + 0.999)]
        if self.kick_in in ready:
            read(self.kick_in, 4096)
        if own in ready:
            if self.folder is None:
                self.fill()
            else:
                read(own, 65536)
        return ready

    def allow_kicks(self):
        if self.kick_in is None:
            ends = os.pipe()
            self.kick_in, self.kick_out = (keep_descriptor(fd) for fd in ends)
            for fd in ends:
                close(fd)

    def kick(self):
        if self.kick_out is not None:
            write(self.kick_out, b"k")

    def leave(self):
        """In a child process: it has no channel, and nothing of its parent's."""
        for fd in {self.source, self.sink, self.inotify, self.kick_in, self.kick_out} - {None}:
            try:
                close(fd)
            except OSError:
                pass
        self.source = self.folder = self.inotify = self.kick_in = self.kick_out = None
        self.lines, self.pieces, self.lock = [], [], RawRLock()


def watch_folder(folder):
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        fd = libc.inotify_init1(os.O_CLOEXEC)
        # IN_CLOSE_WRITE | IN_MOVED_TO
        if fd >= 0 and libc.inotify_add_watch(fd, os.fsencode(folder), 0x88) >= 0:
            return keep_descriptor(fd)
    except (ImportError, OSError, AttributeError):
        pass
    return None


# Time: the guest's own clock, and the real one for its timers alone.


class Clock:
    def __init__(self, start_ms, live):
        self.start_ms = start_ms
        self.start_ns = round(start_ms * MS)
        self.elapsed = 0
        self.live = live
        self.base = 0.0
        self.began = monotonic()

    def look(self):
        """Each look moves it, so that waiting for it in a loop comes to an end."""
        self.elapsed += STEP_NS
        return self.elapsed

    def now_ms(self):
        return self.start_ms + self.elapsed / MS

    def real(self):
        """Milliseconds since the task's first start, once live."""
        return self.base + (monotonic() - self.began) * 1000

    def go_live(self):
        self.base = max(self.real(), wall() * 1000 - self.start_ms)
        self.began = monotonic()
        self.live = True


# Turns.

RUNNING, READY, WAITING, OUTSIDE = "running", "ready", "waiting", "outside"


class Turn:
    """A thread of the program. OUTSIDE: it was seen to sleep in a system call that the agent knows nothing of."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.state = READY
        self.gate = RawLock()
        self.gate.acquire()
        self.ident = None
        self.native = None
        self.woken = False
        self.done = False
        self.joiners = []
        self.due = None
        self.real = 0.0
        self.order = 0
        self.fd = None
        self.known = {}
        self.spins = 0
        self.meta = None

    def open(self):
        try:
            self.gate.release()
        except RuntimeError:
            pass


class Turns:
    def __init__(self, channel, clock):
        self.channel = channel
        self.clock = clock
        self.calls = {}
        self.last_call = 0
        self.turn = 0
        self.orders = 0
        self.reset()

    def reset(self):
        self.mutex = RawRLock()
        main = Turn(False)
        main.state = RUNNING
        main.ident = ident()
        self.main = main
        self.all = [main]
        self.by_ident = {main.ident: main}
        self.ready = []
        self.running = 1
        self.pump = None
        self.changed = True
        self.watching = False
        self.armed = RawLock()
        self.child = False

    def become_child(self):
        self.reset()
        self.child = True
        self.calls = {}
        self.clock.live = True
        self.channel.leave()

    def me(self):
        me = self.by_ident.get(ident())
        if me is None:
            me = Turn(True)
            me.state = OUTSIDE
            me.ident = ident()
            me.native = _thread.get_native_id()
            with self.mutex:
                self.all.append(me)
                self.by_ident[me.ident] = me
                self.channel.allow_kicks()
        if me.state is OUTSIDE:
            with self.mutex:
                me.state = RUNNING
                self.running += 1
        return me

    # What a thread does.

    def after(self, seconds):
        return self.clock.elapsed + max(0, round(seconds * 1_000_000_000))

    def wait(self, due=None, fd=None):
        """Until woken (True) or until `due` on the guest's clock (False). May wake early: callers look again."""
        headroom()
        me = self.me()
        while True:
            with self.mutex:
                if me.woken:
                    me.woken = False
                    return True
                if due is not None and due <= self.clock.elapsed:
                    return False
                self.arm(me, due)
                me.fd = fd
                me.spins = 0
                self.running -= 1
                me.state = WAITING
                self.changed = True
            try:
                self.stand(me)
            finally:
                with self.mutex:
                    me.due = me.fd = None
                    if me.state is not RUNNING:
                        # A signal's handler has thrown.
                        if me in self.ready:
                            self.ready.remove(me)
                        me.state = RUNNING
                        self.running += 1
            if fd is not None and not me.woken and due is None:
                return True

    def arm(self, me, due):
        if due is None:
            me.due = None
            return
        now = self.clock.elapsed
        me.due = min(due, now + LONGEST_TIMER_NS)
        if len(me.known) > 64:
            me.known = {at: real for at, real in me.known.items() if at > now}
        # Waited for again, a timer is due when it was.
        me.real = me.known.setdefault(me.due, self.clock.real() + (me.due - now) / MS)
        self.orders += 1
        me.order = self.orders

    def wake(self, turn):
        with self.mutex:
            turn.woken = True
            if turn.state is WAITING:
                turn.state = READY
                self.ready.append(turn)
                if self.running == 0:
                    self.channel.kick()

    def pause(self):
        """Lets others run. A loop of nothing else, with calls open, becomes a wait: else nothing could come."""
        me = self.me()
        me.spins += 1
        if me.spins >= SPINS and self.calls:
            self.wait(self.clock.elapsed + MS)
            return
        with self.mutex:
            if not self.ready:
                return
            me.state = READY
            self.ready.append(me)
            self.running -= 1
        self.stand(me)

    def stand(self, me):
        """Returns when it is this thread's turn."""
        while True:
            with self.mutex:
                if me.state is OUTSIDE:
                    # Seen before it woke.
                    me.state = RUNNING
                    self.running += 1
                if me.state is RUNNING:
                    return
                pump = False
                if self.running == 0:
                    if self.ready:
                        self.give_turn()
                        if me.state is RUNNING:
                            me.gate.acquire(False)
                            return
                    elif self.pump is None:
                        self.pump = me
                        pump = True
                    else:
                        self.channel.kick()
            if pump:
                try:
                    self.listen()
                finally:
                    self.pump = None
            else:
                me.gate.acquire()

    def give_turn(self):
        turn = self.ready.pop(0)
        turn.state = RUNNING
        self.running += 1
        self.changed = True
        turn.open()
        if len(self.all) > 1:
            self.watch()

    def hand_over(self):
        """Called where a thread runs no more and cannot say so itself."""
        if self.running > 0:
            return
        if self.ready:
            self.give_turn()
        elif self.pump is not None:
            self.channel.kick()
        else:
            for turn in self.all:
                if turn.state is WAITING:
                    turn.open()
                    return

    # Threads.

    def start(self, begin, function, args, kwargs):
        """`begin` starts a real thread, of the function that it is given."""
        owner = getattr(function, "__self__", None)
        is_thread = hasattr(owner, "_bootstrap")
        turn = Turn(owner.daemon if is_thread else True)
        if is_thread:
            owner._airlock = turn
        self.me()

        def body():
            turn.ident = ident()
            turn.native = _thread.get_native_id()
            self.by_ident[turn.ident] = turn
            try:
                self.stand(turn)
                function(*args, **kwargs)
            finally:
                self.leave(turn)

        with self.mutex:
            self.channel.allow_kicks()
            self.all.append(turn)
            self.ready.append(turn)
        try:
            return begin(body)
        except BaseException:
            with self.mutex:
                self.all.remove(turn)
                self.ready.remove(turn)
            raise

    def leave(self, turn):
        with self.mutex:
            turn.done = True
            self.all.remove(turn)
            self.by_ident.pop(turn.ident, None)
            if turn.state is RUNNING:
                self.running -= 1
            self.changed = True
            for joiner in turn.joiners:
                self.wake(joiner)
            self.hand_over()

    def join(self, turn, due=None):
        me = self.me()
        turn.joiners.append(me)
        while not turn.done and self.wait(due):
            pass
        return turn.done

    def watch(self):
        """Sees threads that sleep in system calls, and lets others run meanwhile."""
        if not self.watching:
            self.watching = True
            self.armed.acquire()
            start_thread(self.watch_turns, ())
        elif self.armed.locked():
            self.armed.release()

    def watch_turns(self):
        seen, times = None, 0
        while not self.child:
            real_sleep(WATCH_S)
            with self.mutex:
                runs = [turn for turn in self.all if turn.state is RUNNING]
            if not runs:
                self.armed.acquire()
                continue
            turn = runs[0]
            look = (turn, self.sleep_of(turn))
            times = times + 1 if look[1] is not None and look == seen else 0
            seen = look
            if times == 0:
                continue
            with self.mutex:
                if turn.state is RUNNING and self.sleep_of(turn) == look[1]:
                    turn.state = OUTSIDE
                    self.running -= 1
                    self.hand_over()

    def sleep_of(self, turn):
        """Which sleep in the kernel it is in, or None where it is in none, or waits for the worker to read."""
        if not self.channel.lock.acquire(False):
            return None
        self.channel.lock.release()
        try:
            with open_file("/proc/self/task/%d/status" % (turn.native or getpid())) as file:
                text = file.read()
        except OSError:
            return None
        if "\nState:\tS" not in text or "\nvoluntary_ctxt_switches:" not in text:
            return None
        return text[text.index("\nvoluntary_ctxt_switches:") :]

    # What is done while nobody runs.

    def listen(self):
        while True:
            with self.mutex:
                if self.running or self.ready:
                    return
                if self.advance():
                    continue
                timeout, fds = self.report()
            ready = self.channel.wait(timeout, fds)
            with self.mutex:
                for turn in self.all:
                    if turn.state is WAITING and turn.fd in ready:
                        self.wake(turn)
                if self.running or self.ready or self.channel.next() is not None:
                    continue
                first = self.first_timer()
                if timeout is not None and first is not None and self.clock.real() >= first.real:
                    self.fire(first)

    def first_timer(self):
        armed = [turn for turn in self.all if turn.state is WAITING and turn.due is not None]
        return min(armed, key=lambda turn: (turn.due, turn.order)) if armed else None

    def fire(self, turn):
        self.clock.elapsed = max(self.clock.elapsed, turn.due)
        turn.state = READY
        self.ready.append(turn)
        self.changed = True

    def advance(self):
        """Does what the first line says. Timers that were due by then have fired before an outcome, in every run."""
        line = self.channel.next()
        if line is None:
            return False
        first = self.first_timer()
        if line[0] == "settle" and line[1] in self.calls:
            at = round(line[2] * MS) - self.clock.start_ns
            if first is not None and first.due <= at:
                self.fire(first)
                return True
            self.clock.elapsed = max(self.clock.elapsed, at)
            self.calls.pop(line[1]).settle(line[3])
        elif line[0] == "tick" and line[1] == self.turn and not self.changed and first is not None:
            self.fire(first)
        elif line[0] == "live" and not self.clock.live:
            self.clock.go_live()
        # Also after a line that changes nothing: the worker waits for a report that knows of it.
        self.changed = True
        self.channel.take()
        return True

    def report(self):
        """How long to listen, and to what; says that the program is idle where it is."""
        first = self.first_timer()
        waits = len(self.calls) > 0
        fds = [turn.fd for turn in self.all if turn.state is WAITING and turn.fd is not None]
        outside = [turn for turn in self.all if turn.state is OUTSIDE]
        busy = self.child or len(fds) > 0 or any(not turn.daemon for turn in outside)
        real = self.clock.real()
        if not busy and first is None and not waits:
            if not outside:
                finish(failure("GUEST_ERROR", NEVER_GOES_ON))
        elif not busy and self.changed:
            flush_output()
            self.changed = False
            self.turn += 1
            times = (None, None)
            if first is not None:
                times = (max(0, first.real - real), self.clock.start_ms + first.due / MS)
            self.channel.say("idle", self.turn, waits, *times, self.channel.taken)
        alone = self.clock.live and (busy or not waits)
        timeout = max(0, first.real - real) / 1000 if first is not None and alone else None
        return timeout, fds


class Lock:
    """In the place of the interpreter's own: waiting for it is seen, and gives others their turn."""

    def __init__(self):
        self._raw = RawLock()
        self._waiters = []

    def acquire(self, blocking=True, timeout=-1):
        if self._raw.acquire(False):
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        due = None if timeout == -1 else turns.after(timeout)
        me = turns.me()
        self._waiters.append(me)
        got = False
        try:
            while True:
                got = self._raw.acquire(False)
                if got:
                    return True
                if not turns.wait(due):
                    got = self._raw.acquire(False)
                    return got
        finally:
            self._waiters.remove(me)
            if not got:
                self._wake()

    def release(self):
        self._raw.release()
        self._wake()

    def _wake(self):
        if self._waiters and not self._raw.locked():
            turns.wake(self._waiters[0])

    def locked(self):
        return self._raw.locked()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def _at_fork_reinit(self):
        self._raw = RawLock()
        self._waiters = []

    acquire_lock, release_lock, locked_lock = acquire, release, locked


# Tools.


class ToolError(Exception):
    """A call that failed."""

    def __init__(self, code, message, path=None, meta=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.meta = meta

    def __reduce__(self):
        return (ToolError, (self.code, self.message, self.path, self.meta))


ToolError.__module__ = "__main__"


class Call:
    """One that a thread waits for."""

    def __init__(self, path):
        self.path = path
        self.told = None
        self.turn = turns.me()

    def settle(self, told):
        self.told = parse_json(told)
        turns.wake(self.turn)

    def result(self):
        told = self.told
        if told["ok"]:
            return told.get("value")
        raise ToolError(told["code"], told["message"], self.path, told["meta"])

    def outcome(self):
        while self.told is None:
            turns.wait()
        self.turn.meta = self.told["meta"]
        return self.result()


running_loop = None
make_awaitable = None


def send_call(path, args, kwargs):
    headroom()
    if turns.child:
        raise RuntimeError("tools can be called only in the first process of a program")
    if len(path) > CALL_PATH_CHARS or path == "":
        message = "a tool has a path, like tools.util.echo, of at most %d characters" % CALL_PATH_CHARS
        raise ToolError("UNKNOWN_TOOL", message)
    text = input_text(path, args, kwargs)
    loop = None if running_loop is None else running_loop()
    call = Call(path) if loop is None else make_awaitable(loop, path)
    flush_output()
    with turns.mutex:
        turns.last_call += 1
        turns.calls[turns.last_call] = call
        turns.changed = True
        turns.channel.say("call", turns.last_call, path, text, turns.clock.now_ms())
    return call.outcome() if loop is None else call


def input_text(path, args, kwargs):
    if len(args) > 1 or (args and kwargs):
        raise ToolError("BAD_TOOL_INPUT", path + ": a tool takes one value, or keywords")
    try:
        text = to_json(args[0] if args else kwargs)
    except Exception as error:
        why = path + ": the input cannot be written as JSON: " + head_of(error)
        raise ToolError("BAD_TOOL_INPUT", why) from None
    size = units(text)
    if size > CALL_INPUT_CHARS:
        sizes = "the input has %d characters of JSON; at most %d are sent" % (size, CALL_INPUT_CHARS)
        raise ToolError("BAD_TOOL_INPUT", sizes)
    return text


def camel_case(name):
    """`create_issue` is createIssue; names that are not snake_case stay as they are."""
    first, *words = name.split("_")
    if not words or name != name.lower() or not first[:1].isalpha() or not all(words):
        return name
    return first + "".join(word[0].upper() + word[1:] for word in words)


class Tool:
    __slots__ = ("_path",)

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[camel_case(name)]

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise TypeError("a tool's name is a string")
        return Tool(self._path + "." + name)

    def __call__(self, *args, **kwargs):
        return send_call(self._path, args, kwargs)

    def __repr__(self):
        return "<tool " + self._path + ">"


class Tools:
    __slots__ = ()

    def call(self, path, *args, **kwargs):
        return send_call(str(path), args, kwargs)

    @property
    def last_meta(self):
        """What is known of the last call that this thread waited for."""
        return turns.me().meta

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Tool(camel_case(name))

    def __getitem__(self, name):
        return Tool("")[name] if not isinstance(name, str) else Tool(name)

    def __repr__(self):
        return "<tools>"


# Output.


def join_surrogates(error):
    """Pairs become their character, as in JavaScript; what is alone becomes U+FFFD."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    return part.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode(), error.end


class Output(io.BufferedIOBase):
    """Below `sys.stdout` and `sys.stderr`: bytes in, frames out."""

    # Of both streams, in the order written.
    pending = []
    size = 0

    def __init__(self, stream):
        import codecs

        self.stream = stream
        self.name = "<stdout>" if stream == 1 else "<stderr>"
        self.mode = "wb"
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def writable(self):
        return True

    def isatty(self):
        return False

    def fileno(self):
        return self.stream

    def write(self, data):
        headroom()
        data = bytes(data)
        if turns.child:
            return write(self.stream, data)
        Output.pending.append((self, data))
        Output.size += len(data)
        # Line by line: a program that never looks up again has said what it said.
        if b"\n" in data or b"\r" in data or Output.size > OUTPUT_CHARS:
            flush_output()
        return len(data)

    def flush(self):
        flush_output()

    def say(self, data, last=False):
        for at in range(0, len(data) or 1, OUTPUT_CHARS):
            text = self.decode(data[at : at + OUTPUT_CHARS], last)
            if text:
                turns.channel.put('["out",%d,%s]' % (self.stream, quote_ascii(text)))


outputs = ()


def replace_output():
    global outputs
    import codecs

    codecs.register_error("airlock", join_surrogates)
    outputs = (Output(1), Output(2))
    for output, name in zip(outputs, ("stdout", "stderr")):
        text = io.TextIOWrapper(output, "utf-8", "airlock", newline="\n", write_through=True)
        setattr(sys, name, text)
        setattr(sys, "__" + name + "__", text)


def flush_output():
    pending, Output.pending, Output.size = Output.pending, [], 0
    at = 0
    while at < len(pending):
        output, first = pending[at]
        pieces = [first]
        at += 1
        while at < len(pending) and pending[at][0] is output:
            pieces.append(pending[at][1])
            at += 1
        output.say(b"".join(pieces))


# How a program ends.

ending = RawLock()


def failure(code, message, stack=None, exit_code=None):
    stack = None if stack is None else cut(stack, STACK_CHARS)
    message = cut(message, MESSAGE_CHARS)
    return {"kind": "failed", "code": code, "message": message, "stack": stack, "exitCode": exit_code}


def returned(output, exit_code=None):
    return {"kind": "returned", "output": output, "exitCode": exit_code}


def finish(end):
    if not ending.acquire(False):
        # Another thread has begun to, and ends this one too.
        while True:
            real_sleep(3600)
    flush_output()
    for output in outputs:
        output.say(b"", True)
    turns.channel.say("done", end)
    real_exit(end["exitCode"] or (0 if end["kind"] == "returned" else 1))


def exited(code):
    if code is None:
        return returned(None, 0)
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    code &= 255
    if code == 0:
        return returned(None, 0)
    return failure("GUEST_ERROR", "the program exited with code %d" % code, None, code)


def head_of(error):
    """Its name and words, whatever the program made of them."""
    kind = type(error)
    try:
        module, name = kind.__module__, kind.__qualname__
        if module not in ("builtins", "__main__"):
            name = str(module) + "." + str(name)
    except Exception:
        name = "an exception"
    try:
        text = str(error)
    except Exception:
        text = "(its words cannot be told)"
    return str(name) + ": " + text if text else str(name)


def frames_of(error):
    frames = []
    step = error.__traceback__
    folder = program.folder + "/"
    while step is not None:
        code = step.tb_frame.f_code
        own = code.co_filename.startswith(folder) and code.co_filename != __file__
        if own or code.co_filename == TASK_FILE:
            line = step.tb_lineno or 0
            frames.append('  File "%s", line %d, in %s' % (code.co_filename, line, code.co_name))
            if code.co_filename == TASK_FILE and 0 < line <= len(program.lines):
                frames[-1] += "\n    " + program.lines[line - 1].strip()
        step = step.tb_next
    if len(frames) > STACK_FRAMES:
        half = STACK_FRAMES // 2
        frames[half:-half] = ["  … %d more" % (len(frames) - STACK_FRAMES)]
    return frames


def stack_of(error, depth=0):
    text = ""
    cause = error.__cause__
    link = "\n\nThe above exception was the direct cause of the following exception:\n\n"
    if cause is None and not error.__suppress_context__:
        cause = error.__context__
        link = "\n\nDuring handling of the above exception, another exception occurred:\n\n"
    if isinstance(cause, BaseException) and depth < 5:
        told = stack_of(cause, depth + 1)
        text = told + link if told else ""
    frames = frames_of(error)
    if isinstance(error, SyntaxError) and error.filename == TASK_FILE:
        line = '  File "%s", line %s' % (TASK_FILE, error.lineno)
        frames.append(line + ("\n    " + error.text.strip() if isinstance(error.text, str) else ""))
    if not frames:
        return text
    return text + "\n".join(["Traceback (most recent call last):", *frames, head_of(error)])


def describe(error, prefix=""):
    if isinstance(error, MemoryError):
        return failure("OUT_OF_MEMORY", "the program needs more memory than it may have")
    code = "GUEST_ERROR"
    if isinstance(error, ToolError):
        code = error.code if error.code in CALL_ERRORS else "TOOL_FAILED"
    try:
        stack = stack_of(error) or None
    except Exception:
        stack = None
    return failure(code, prefix + head_of(error), stack)


# The clock and the randomness of the first run.


def replace_time(clock):
    real_gmtime, real_localtime, real_strftime, real_asctime = time.gmtime, time.localtime, time.strftime, time.asctime

    def time_ns():
        return clock.start_ns + clock.look()

    def elapsed_ns():
        return clock.look()

    def now():
        return time_ns() / 1e9

    def elapsed():
        return clock.look() / 1e9

    def seconds(value):
        return time_ns() // 1_000_000_000 if value is None else value

    def sleep(seconds):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        due = turns.after(seconds)
        if due <= clock.elapsed:
            turns.pause()
            return
        while turns.wait(due):
            pass

    def gmtime(secs=None):
        return real_gmtime(seconds(secs))

    def localtime(secs=None):
        return real_localtime(seconds(secs))

    def asctime(t=None):
        return real_asctime(localtime() if t is None else t)

    def ctime(secs=None):
        return real_asctime(localtime(secs))

    def strftime(format, t=None):
        return real_strftime(format, localtime() if t is None else t)

    def clock_gettime_ns(clk_id):
        return time_ns() if clk_id == getattr(time, "CLOCK_REALTIME", 0) else elapsed_ns()

    def clock_gettime(clk_id):
        return clock_gettime_ns(clk_id) / 1e9

    new = dict(time=now, time_ns=time_ns, sleep=sleep, gmtime=gmtime, localtime=localtime, asctime=asctime)
    new.update(ctime=ctime, strftime=strftime, clock_gettime=clock_gettime, clock_gettime_ns=clock_gettime_ns)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        new[name] = elapsed
        new[name + "_ns"] = elapsed_ns
    for name, function in new.items():
        if hasattr(time, name):
            setattr(time, name, function)


class Randomness:
    def __init__(self, seed):
        number = int.from_bytes(seed.encode(), "big") + 1
        self.own = number * 2 + 1
        self.stream = _random.Random(number * 2)

    def bytes(self, count):
        if count < 0:
            raise ValueError("negative argument not allowed")
        return self.stream.getrandbits(8 * count).to_bytes(count, "little") if count else b""

    def replace(self):
        def urandom(size):
            return self.bytes(size)

        def getrandom(size, flags=0):
            return self.bytes(size)

        for module in (os, sys.modules.get("posix")):
            module.urandom = urandom
            if hasattr(module, "getrandom"):
                module.getrandom = getrandom


# What is replaced in modules once a program loads them.


def patch_datetime(module):
    """The type's own dictionary is changed: a subclass would not be what C code makes, and what `type()` says."""
    import gc

    utc = module.timezone.utc

    def now(cls, tz=None):
        return cls.fromtimestamp((turns.clock.start_ns + turns.clock.look()) // 1000 / 1e6, tz)

    def utcnow(cls):
        return now(cls, utc).replace(tzinfo=None)

    own = gc.get_referents(module.datetime.__dict__)[0]
    own["now"] = classmethod(now)
    own["utcnow"] = classmethod(utcnow)
    before = turns.clock.elapsed
    module.datetime.now()
    if turns.clock.elapsed == before:
        finish(failure("SANDBOX_FAILED", "the clock of this Python cannot be held still"))
    turns.clock.elapsed = before


def patch_random(module):
    seed = module.Random.seed

    def seeded(self, a=None, version=2):
        if a is None:
            a = int.from_bytes(os.urandom(32), "big")
        return seed(self, a, version)

    module._urandom = os.urandom
    module.Random.seed = seeded
    module.seed = module._inst.seed
    module.seed(randomness.own)


def patch_uuid(module):
    for name in ("_generate_time_safe", "_UuidCreate"):
        if hasattr(module, name):
            setattr(module, name, None)
    # A random node, as the standard says it must look.
    module._node = _random.Random(randomness.own).getrandbits(48) | (1 << 40)


def patch_threading(module):
    join, is_alive = module.Thread.join, module.Thread.is_alive

    def join_thread(self, timeout=None):
        turn = self.__dict__.get("_airlock")
        if turn is None or turn is turns.me():
            return join(self, timeout)
        due = None if timeout is None else turns.after(timeout)
        # The rest of its end is the interpreter's, and short.
        return join(self) if turns.join(turn, due) else None

    def thread_is_alive(self):
        turn = self.__dict__.get("_airlock")
        if turn is not None and turn.done:
            join(self)
        return is_alive(self)

    def excepthook(args):
        if not isinstance(args.exc_value, SystemExit) and args.exc_value is not None:
            finish(describe(args.exc_value, "a thread died: "))

    module.Thread.join = join_thread
    module.Thread.is_alive = thread_is_alive
    # Again, as something may have loaded it before the agent began.
    module.Lock = module._allocate_lock = Lock
    for name in ("start_new_thread", "start_joinable_thread"):
        if hasattr(module, "_" + name):
            setattr(module, "_" + name, getattr(_thread, name))
    module._time = time.monotonic
    module._CRLock = None
    module.excepthook = module.__excepthook__ = excepthook
    if hasattr(module, "_excepthook"):
        module._excepthook = excepthook
    functools = sys.modules.get("functools")
    if functools is not None and hasattr(functools, "RLock"):
        functools.RLock = module.RLock


def patch_queue(module):
    module.SimpleQueue = module._PySimpleQueue
    module.time = time.monotonic


def patch_linecache(module):
    module.cache[TASK_FILE] = (len(program.code), None, [line + "\n" for line in program.lines], TASK_FILE)


def patch_event_loops(module):
    """Every event loop waits as a thread does: its timers are guest timers, and calls wake it."""
    global running_loop, make_awaitable
    from asyncio import events, futures

    Base = module.BaseSelectorEventLoop
    begin, poke = Base.__init__, Base._write_to_self

    class Selector(module.selectors.DefaultSelector):
        def __init__(self):
            super().__init__()
            self.loop = None
            self.sleeper = None
            self.settled = []

        def select(self, timeout=None):
            self.take()
            found = super().select(0)
            if found or self.loop._ready:
                return found
            if timeout is not None and timeout <= 0:
                return found
            due = None
            if timeout is not None:
                timers = self.loop._scheduled
                due = round(timers[0]._when * 1e9) if timers else turns.after(timeout)
            self.sleeper = turns.me()
            # Beside the loop's own pipe there is something that the world outside may write to.
            turns.wait(due, self.fileno() if len(self.get_map()) > 1 else None)
            self.take()
            return super().select(0)

        def take(self):
            while self.settled:
                self.settled.pop(0).apply()

    def __init__(self, selector=None):
        own = Selector() if selector is None else selector
        if selector is None:
            own.loop = self
        begin(self, own)

    def _write_to_self(self):
        poke(self)
        sleeper = getattr(getattr(self, "_selector", None), "sleeper", None)
        if sleeper is not None:
            turns.wake(sleeper)

    run_once = Base._run_once

    def _run_once(self):
        if self._ready:
            turns.pause()
        run_once(self)

    class Awaitable(futures.Future):
        """A future that can be given where a coroutine is asked for, as by `asyncio.create_task`."""

        def __init__(self, loop, path):
            super().__init__(loop=loop)
            self.path = path
            self.meta = None
            self._told = None
            self._steps = None

        def settle(self, told):
            self._told = parse_json(told)
            self.meta = self._told["meta"]
            loop = self.get_loop()
            if loop.is_closed():
                return
            selector = getattr(loop, "_selector", None)
            if isinstance(selector, Selector):
                selector.settled.append(self)
                if selector.sleeper is not None:
                    turns.wake(selector.sleeper)
            else:
                loop.call_soon_threadsafe(self.apply)

        def apply(self):
            if self.done():
                return
            told = self._told
            if told["ok"]:
                self.set_result(told.get("value"))
            else:
                self.set_exception(ToolError(told["code"], told["message"], self.path, told["meta"]))

        def send(self, value):
            self._steps = self._steps or self.__await__()
            return self._steps.send(value)

        def throw(self, *thrown):
            self._steps = self._steps or self.__await__()
            return self._steps.throw(*thrown)

        def close(self):
            pass

    Base.__init__ = __init__
    Base._write_to_self = _write_to_self
    Base._run_once = _run_once
    running_loop = events._get_running_loop
    make_awaitable = Awaitable


PATCHES = {
    "datetime": patch_datetime,
    "random": patch_random,
    "uuid": patch_uuid,
    "threading": patch_threading,
    "queue": patch_queue,
    "linecache": patch_linecache,
    "asyncio.selector_events": patch_event_loops,
}


class PatchingLoader:
    def __init__(self, loader, patch):
        self.loader = loader
        self.patch = patch

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.patch(module)

    def __getattr__(self, name):
        return getattr(self.loader, name)


class PatchingFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        patch = PATCHES.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is PatchingFinder else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = PatchingLoader(spec.loader, patch)
                return spec
        return None


def replace_threads():
    def start_new_thread(function, args, kwargs=None):
        return turns.start(lambda body: start_thread(body, ()), function, args, kwargs or {})

    _thread.start_new_thread = _thread.start_new = start_new_thread
    if hasattr(_thread, "start_joinable_thread"):
        start_joinable = _thread.start_joinable_thread

        def start_joinable_thread(function, handle=None, daemon=True):
            return turns.start(lambda body: start_joinable(body, handle=handle, daemon=daemon), function, (), {})

        _thread.start_joinable_thread = start_joinable_thread
    for name in ("allocate_lock", "allocate", "LockType", "lock"):
        if hasattr(_thread, name):
            setattr(_thread, name, Lock)


def replace_processes():
    def _exit(status):
        if turns.child:
            real_exit(status)
        finish(exited(status))

    os._exit = sys.modules["posix"]._exit = _exit
    os.register_at_fork(before=flush_output, after_in_child=turns.become_child)


# The program.


class Program:
    """The author's text as the body of a function; but its top-level names are those of a module, as in a script."""

    def __init__(self, code):
        self.code = code[1:] if code.startswith("\ufeff") else code
        self.lines = self.code.splitlines()
        self.folder = os.getcwd()

    # As a loader: so that `inspect` and `traceback` find the source.
    def get_source(self, name=None):
        return self.code

    def compile(self):
        tree = compile(self.code, TASK_FILE, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
        futures, stars, body = split_imports(tree.body)
        plain = [without_annotation(statement) for statement in body]
        kind = _ast.AsyncFunctionDef if any(map(awaits, plain)) else _ast.FunctionDef
        printer, sys.stderr = sys.stderr, None
        try:
            # Once to learn its names; the warnings of the compiler come with the second time.
            first = self.build(kind, futures, stars, plain, ())
        finally:
            sys.stderr = printer
        inner = first.co_consts
        names = [c for c in inner if hasattr(c, "co_varnames") and c.co_name == "<module>"][-1]
        kept = nonlocals(plain)
        shared = [name for name in (*names.co_varnames, *names.co_cellvars) if name not in kept and name[0] != "."]
        # 0x20: a generator, 0x200: an asynchronous one.
        if names.co_flags & 0x220:
            raise SyntaxError("'yield' outside function", (TASK_FILE, *yield_place(plain, self.lines)))
        return self.build(kind, futures, stars, plain, shared), kind is _ast.AsyncFunctionDef

    def build(self, kind, futures, stars, body, shared):
        place = dict(lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
        arguments = _ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        arguments.vararg = arguments.kwarg = None
        head = [_ast.Global(names=sorted(set(shared)), **place)] if shared else []
        head += body or [_ast.Pass(**place)]
        function = kind(name="<module>", args=arguments, body=head, decorator_list=[], returns=None, **place)
        function.type_comment = None
        function.type_params = []
        module = _ast.Module(body=[*futures, *stars, function], type_ignores=[])
        return compile(module, TASK_FILE, "exec", dont_inherit=True)


def split_imports(body):
    """`from __future__` and `from … import *` are not possible in a function."""
    futures, stars, rest = [], [], []
    legal = True
    for at, statement in enumerate(body):
        imports = isinstance(statement, _ast.ImportFrom)
        if imports and statement.module == "__future__" and legal:
            futures.append(statement)
            continue
        docstring = at == 0 and isinstance(statement, _ast.Expr) and isinstance(statement.value, _ast.Constant)
        legal = legal and docstring
        star = imports and any(alias.name == "*" for alias in statement.names)
        (stars if star else rest).append(statement)
    return futures, stars, rest


SCOPES = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Lambda)


def children(node):
    for name in node._fields:
        value = getattr(node, name, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, _ast.AST):
                yield child


def in_scope(node, inner=False):
    """The node and all below it; without what is inside of functions and classes, unless `inner`."""
    todo = [node]
    while todo:
        at = todo.pop()
        yield at
        if isinstance(at, SCOPES) and not inner:
            todo += getattr(at, "decorator_list", ())
        else:
            todo += children(at)


def awaits(statement):
    for node in in_scope(statement):
        if isinstance(node, (_ast.Await, _ast.AsyncFor, _ast.AsyncWith)):
            return True
        if isinstance(node, _ast.comprehension) and node.is_async:
            return True
    return False


def nonlocals(body):
    found = set()
    for statement in body:
        for node in in_scope(statement, True):
            if isinstance(node, _ast.Nonlocal):
                found.update(node.names)
    return found


def yield_place(body, lines):
    for statement in body:
        for node in in_scope(statement):
            if isinstance(node, (_ast.Yield, _ast.YieldFrom)):
                return node.lineno, node.col_offset + 1, lines[node.lineno - 1]
    return 1, 1, ""


def without_annotation(statement):
    """A name of the module cannot be annotated in a function; annotations of its own names mean nothing there."""
    if isinstance(statement, SCOPES):
        return statement
    if isinstance(statement, _ast.AnnAssign) and isinstance(statement.target, _ast.Name):
        place = {name: getattr(statement, name) for name in statement._attributes}
        if statement.value is None:
            return _ast.Pass(**place)
        plain = _ast.Assign(targets=[statement.target], value=statement.value, **place)
        plain.type_comment = None
        return plain
    for name in statement._fields:
        value = getattr(statement, name, None)
        if isinstance(value, list):
            for at, child in enumerate(value):
                if isinstance(child, (_ast.stmt, _ast.excepthandler)) or type(child).__name__ == "match_case":
                    value[at] = without_annotation(child)
    return statement


def make_main_module(order):
    module = type(sys)("__main__")
    module.__file__ = program.folder + "/" + TASK_FILE
    module.__loader__ = program
    module.__builtins__ = builtins
    module.tools = Tools()
    module.ToolError = ToolError
    module.input = None if order["input"] is None else parse_json(order["input"])
    sys.modules["__main__"] = module
    return module


def run(order):
    module = make_main_module(order)
    code, is_async = program.compile()
    names = module.__dict__
    exec(code, names)
    body = names.pop("<module>")
    if not is_async:
        return body()
    import asyncio

    return asyncio.run(body())


def run_to_end(order):
    """Gives the end; what the program threw is told when nothing of it is on the stack any more."""
    try:
        value = run(order)
        wait_for_threads()
    except SystemExit as error:
        return exited(error.code)
    except BaseException as error:
        return describe(error)
    try:
        return returned(None if value is None else to_json(value))
    except Exception as error:
        return describe(error, "the returned value cannot be written as JSON: ")


def wait_for_threads():
    """What the interpreter does at its end, but taking turns."""
    threading = sys.modules.get("threading")
    for callback in reversed(getattr(threading, "_threading_atexits", ())):
        callback()
    while True:
        left = [turn for turn in turns.all if turn is not turns.main and not turn.daemon]
        if not left:
            break
        turns.join(left[0])
    atexit = sys.modules.get("atexit")
    if atexit is not None:
        atexit._run_exitfuncs()


# The start.


def argument(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def start_again_with_hash_seed():
    if not sys.flags.hash_randomization:
        return
    if "--again" in sys.argv:
        sys.exit("this Python does not take PYTHONHASHSEED")
    environment = dict(os.environ, PYTHONHASHSEED="0")
    os.execve(sys.executable, [sys.executable, "-sB", os.path.abspath(__file__), *sys.argv[1:], "--again"], environment)


def prepare():
    """All that the program may see of how it was started."""
    os.environ.pop("PYTHONHASHSEED", None)
    os.environ["TZ"] = "UTC"
    time.tzset()
    sys.dont_write_bytecode = True
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.getcwd()] + [folder for folder in sys.path if folder and os.path.abspath(folder) != here]
    sys.argv[:] = [TASK_FILE]


def main():
    global turns, randomness, program
    start_again_with_hash_seed()
    folder = argument("--in-dir")
    source = None if folder is not None else int(argument("--in") or 3)
    channel = Channel(source, folder, int(argument("--out") or 3))
    prepare()
    channel.say("ready")
    while channel.next() is None:
        channel.wait(None, ())
    order = channel.next()[1]
    channel.take()
    clock = Clock(order["clockStart"], order["live"])
    turns = Turns(channel, clock)
    randomness = Randomness(order["seed"])
    program = Program(order["code"])
    replace_output()
    replace_time(clock)
    randomness.replace()
    replace_threads()
    replace_processes()
    for name, patch in PATCHES.items():
        if name in sys.modules:
            patch(sys.modules[name])
    sys.meta_path.insert(0, PatchingFinder)
    finish(run_to_end(order))


if __name__ == "__main__":
    # From other globals: CPython 3.9 hands the builtins on from a caller with the same.
    exec("main()", {"main": main})
