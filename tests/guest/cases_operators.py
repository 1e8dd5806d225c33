# SPDX-License-Identifier: GPL-2.0-or-later
"""The resources that clients can make a session's service use, and the rights of an operator on a guest's tree."""

import os
import socket
import struct

from lib.domain import Config
from lib.suite import Skip, case
from lib.wait import until

GUEST = (Config("bookworm", vcpus=2),)
CONF = "/etc/hvtrace.conf"
OPERATOR = 54401  # a user id without an account
VERSION, OPEN, WRITE, CLOSE, OPEN_PROC, OK = 3, 2, 4, 5, 16, 0x80  # from lib/wire.h
INSTANCES_MOST = 200


class Wire:
    """A client other than hvtrace."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def ask(self, kind, data=b"", handle=0, arg=0):
        """Returns (errno or 0, handle)."""
        self.socket.sendall(struct.pack("<IHHIIII", 24 + len(data), VERSION, kind, handle, arg, 0, 1) + data)
        length, _, kind, handle, arg, _, _ = struct.unpack("<IHHIIII", self.take(24))
        self.take(length - 24)
        return (0 if kind == OK else arg), handle

    def take(self, nr):
        data = b""
        while len(data) < nr:
            more = self.socket.recv(nr - len(data))
            assert more, "the service has closed the connection"
            data += more
        return data


def own_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("RssAnon:"))


def fill(t, traced):
    """Makes instances with large buffers until the service refuses one for lack of memory. Returns their number."""
    with open(t.hv.path, "rb") as file:
        has_limit = b"__asan_init" not in file.read()
    kib = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE") // 1024 // 32
    for made in range(1, INSTANCES_MOST if has_limit else 3):
        for words in (("mkdir", traced.domain, f"instances/m{made}"),
                      ("echo", traced.domain, f"instances/m{made}/buffer_size_kb", str(kib))):
            status, _, err = t.hv.run(*words)
            if status:
                assert "memory" in err, err
                assert made > 1, err
                return made
    assert not has_limit, "the service refused no instance"
    return made


@case(configs=GUEST)
def clients_do_not_use_up_memory(t):
    """Many open copies of kallsyms share one text. Buffers of instances get ENOMEM before the session lacks memory, and
    the session still traces then."""
    with t.attach() as traced:
        directory = t.hv.run_dirs(traced.domain)[0]
        service = traced.stat()["service_pid"]
        before = own_mib(service)
        wires = [Wire(directory + "/sock") for _ in range(8)]
        for wire in wires:
            assert [wire.ask(OPEN_PROC, b"kallsyms")[0] for _ in range(64)] == [0] * 64
        grown = own_mib(service) - before
        # Separate copies would take some 2,000 MiB; a sanitizer's quarantine takes a tenth of that.
        assert grown < 512, f"512 open files of kallsyms take {grown} MiB"
        for wire in wires:
            wire.socket.close()
        made = fill(t, traced)
        t.note(f"{grown} MiB for 512 copies of kallsyms; {made} instances")
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("current_tracer", "function")
        t.guest.run("cat /proc/version")
        assert "vfs_read" in traced.text("trace")
        for number in range(1, made + 1):
            t.hv.run("rmdir", traced.domain, f"instances/m{number}")
        t.hv("mkdir", traced.domain, "instances/again")
        t.hv("rmdir", traced.domain, "instances/again")
        assert traced.stat()["service_pid"] == service


def as_operator(function):
    """Calls FUNCTION in a process of OPERATOR, and returns its text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(OPERATOR)
            os.setuid(OPERATOR)
            text = repr(function())
        except BaseException as error:  # pylint: disable=broad-except
            text = repr(error)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode()
    os.waitpid(pid, 0)
    return text


@case(configs=GUEST)
def operators_are_limited_to_their_rules(t):
    """A client with the right to nop or function can change nothing else in the guest: not by blanks around a name, not
    by a function command, and not by the stack tracer."""
    if os.path.exists(CONF):
        raise Skip(f"this host has {CONF}")
    with t.attach() as traced:
        directory = t.hv.run_dirs(traced.domain)[0]

        def writes(file, text):
            """Returns the errno of the write or of the close, or 0."""
            wire = Wire(directory + "/sock")
            code, handle = wire.ask(OPEN, file.encode(), arg=os.O_WRONLY)
            return code or wire.ask(WRITE, text.encode(), handle)[0] or wire.ask(CLOSE, handle=handle)[0]

        try:
            for words, tries in (
                ("nop", (("set_ftrace_filter", "vfs_read", 0), ("current_tracer", "function", 13),
                         ("stack_tracer_enabled", "1", 13), ("set_ftrace_filter", "vfs_read:traceoff", 13))),
                # the first 100 bytes of a write are the name
                ("function_graph", (("current_tracer", " " * 92 + "function_graph", 13),)),
                ("function", (("current_tracer", "function_graph" + " " * 86 + "nop", 13),
                              ("set_ftrace_filter", "vfs_read:enable_event:sched:sched_switch", 13),
                              ("set_ftrace_filter", "vfs_read:traceoff:1\n", 0), ("current_tracer", "function\n", 0))),
            ):
                with open(CONF, "w", encoding="ascii") as file:
                    file.write(f"allow user {OPERATOR} control {traced.domain} {words}\n")
                t.hv("stat", traced.domain)
                for file, text, want in tries:
                    def found():
                        return as_operator(lambda: writes(file, text))  # pylint: disable=cell-var-from-loop
                    assert until(lambda: found() == str(want)), (words, file, text, found())
            assert traced.text("current_tracer") == "function\n"
            assert traced.text("stack_tracer_enabled") == "0\n" and "enable_event" not in traced.text("set_ftrace_filter")
            traced.echo("current_tracer", "nop")
        finally:
            os.unlink(CONF)
