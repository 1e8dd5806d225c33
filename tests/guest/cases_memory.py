# SPDX-License-Identifier: GPL-2.0-or-later
"""The types and the memory of a guest's kernel by libhvtrace, compared with the guest's own files."""

import hashlib
import json
import re
import sys

from cases_api import Examples, end
from lib.btf import Btf
from lib.domain import Config
from lib.memory import Memory
from lib.suite import case

STATUS = re.compile(r"^Name:\t(.*)\n(?:Umask:.*\n)?State:.*\nTgid:\t(\d+)\n(?:Ngid:.*\n)?Pid:\t(\d+)$", re.M)
LINE = re.compile(r"^ *(\d+) +(\d+) (.*)$", re.M)
CONSTANT_BYTES = 300000
LARGE = ("task_struct", "mm_struct", "super_block", "net", "sk_buff", "page", "zone", "rq", "module", "inode", "pglist_data", "file")

# Prints as JSON what the guest's own files also contain. Arguments: the domain, the number of vCPUs, and names of types. Two variables
# contain addresses at which the kernel has mapped devices.
LOOK = """if True:
    import hashlib, json, sys
    import hvtrace
    CONSTANT_BYTES = 300000

    def error_of(function, *arguments):
        try:
            return repr(function(*arguments))
        except hvtrace.Error as error:
            return error.errno

    def paths(type_):
        names = []
        for m in type_:
            del names[m.depth:]
            names.append(m.name)
            if m.name:
                yield ".".join(name for name in names if name), m.offset

    with hvtrace.join(sys.argv[1]) as s, s.symbols() as symbols:
        banner, queues, constants = (symbols.address(name) for name in ("linux_banner", "runqueues", "__start_rodata"))
        queue = lambda cpu: s.object("rq", s.address_of_cpu(queues, cpu))
        print(json.dumps({
            "banner": s.read_string(banner), "cpus": [queue(cpu)["cpu"] for cpu in range(int(sys.argv[2]))],
            "wrong cpu": error_of(s.address_of_cpu, queues, int(sys.argv[2])),
            "errors": [error_of(s.read_memory, at, 8) for at in (0, 0x400000, 0xffff800000000000, (1 << 64) - 8)],
            "devices": [error_of(s.read_memory, s.read_number(at), 8) for at in map(symbols.address, ("apic_mmio_base", "hpet_virt_address"))
                        if at and s.read_number(at)],
            "constants": constants, "digest": hashlib.sha256(s.read_memory(constants, CONSTANT_BYTES)).hexdigest(),
            "types": {name: (s.types[name].size, s.types[name].is_whole, list(paths(s.types[name]))) for name in sys.argv[3].split()}}))
"""


def tasks_of(guest):
    """Returns {pid: (thread group, name)} of the guest's /proc."""
    text = guest.run("cat /proc/[0-9]*/task/[0-9]*/status 2>/dev/null; true")
    return {int(pid): (int(tgid), name) for name, tgid, pid in STATUS.findall(text)}


def is_name(shown, name):
    """The guest adds the work of a worker to its name, and shows the whole name of a kernel thread."""
    return shown == name or shown.startswith((name + "-", name + "+")) or (len(name) == 15 and shown.startswith(name))


def check_tasks(t, examples, domain):
    before = tasks_of(t.guest)
    text = end(*examples.start_python("ps.py", domain))
    after = tasks_of(t.guest)
    found = {int(pid): (int(tgid), name) for pid, tgid, name in LINE.findall(text)}
    assert len(found) == text.count("\n") - 1 > 20, text
    stable = {pid for pid in before.keys() & after.keys() if before[pid] == after[pid]}
    missing = [(pid, before[pid]) for pid in stable if pid not in found]
    assert not missing and len(stable) > 20, missing
    wrong = [(before[pid], found[pid]) for pid in stable if before[pid][0] != found[pid][0] or not is_name(before[pid][1], found[pid][1])]
    assert not wrong, wrong
    unknown = {pid: task for pid, task in found.items() if pid not in before and pid not in after}
    assert len(unknown) <= 3, unknown  # workers that began and ended in between
    return len(stable)


@case(configs=(Config("bookworm", vcpus=2),), further=(Config("trixie", vcpus=2),), sanitized=True)
def types_and_memory_equal_the_guests(t):
    """examples/ps.py shows the tasks of /proc; types equal those of the guest's BTF. Variables have their values. Addresses of devices, of
    programs, and without memory are refused."""
    examples = Examples(t)
    memory = Memory(t.guest)
    btf = Btf(memory.read_btf()[1])
    names = sorted({*LARGE, *sorted(name for name in btf.compounds if name and len(btf.compounds[name]) == 1)[::40]})
    with t.attach() as traced:
        nr_tasks = check_tasks(t, examples, traced.domain)
        look = json.loads(end(*examples.start(sys.executable, "-c", LOOK, traced.domain, "2", " ".join(names))))
        assert look["banner"] == t.guest.run_bytes("cat /proc/version").decode(), look["banner"]
        assert look["cpus"] == [0, 1] and look["wrong cpu"] == 22, look["cpus"]
        assert look["errors"] == [14] * 4 and look["devices"] and set(look["devices"]) == {14}, (look["errors"], look["devices"])
        assert look["digest"] == hashlib.sha256(memory.read_image(look["constants"], CONSTANT_BYTES)).hexdigest()
        nr = 0
        for name, (size, is_whole, members) in look["types"].items():
            assert is_whole and size == btf.types[btf.compounds[name][0]][2], (name, size)
            differ = [(path, at) for path, at in members if btf.offset(f"{name}.{path}") != at]
            assert not differ, (name, differ[:5])
            nr += len(members)
        assert nr > 5000 and len(look["types"]) == len(names), nr
    memory.close()
    t.note(f"{nr_tasks} tasks, {nr} members of {len(names)} types")


@case(configs=(Config("bookworm", 1, btf=False),), sanitized=True)
def types_without_btf(t):
    """Types that hvtrace derived are marked as incomplete, and others are unknown."""
    examples = Examples(t)
    code = """if True:
        import sys
        import hvtrace
        with hvtrace.join(sys.argv[1]) as s, s.symbols() as symbols:
            init = s.object("task_struct", symbols.address("init_task"))
            first = next(s.objects(init.address_of("tasks"), "task_struct", "tasks"))
            print(init["comm"], first["pid"], first["comm"], init.type.is_whole, "super_block" in s.types)
    """
    with t.attach() as traced:
        text = end(*examples.start(sys.executable, "-c", code, traced.domain))
        assert re.match(r"b'swapper/0(\\x00)*' 1 b'init(\\x00)*' False False$", text), text
