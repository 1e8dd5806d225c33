# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of functions and of their returns, compared with the probes of the guest's own kernel."""

import collections
import re
import shutil
import subprocess
import tempfile

from cases_events import OWN, alike, events_of
from lib.names import Names
from lib.suite import OLDEST, ONE_VCPU, STANDARD, case
from lib.wait import HANG_SECONDS


OPENS = "for i in 1 2 3; do cat /absent 2>/dev/null; ls /proc >/dev/null; done; true"
FETCHES = r'dfd=%di:s32 file=$arg2 how=%dx low=%si:b4@4/32 c=$comm n=\5:u8 text=\"hello" ip=%ip:symbol from=$stack0:symbol'
PROBED = re.compile(r"mine: \(do_sys_openat2\+\S+\) dfd=(-?\d+) file=0x([0-9a-f]+) how=\S+ low=(\d+) c=\"(.*)\" n=5 text=\"hello\" .*")
# Kernels that show the name after its address print numbers in decimal.
OPENED = re.compile(r"sys_openat\(dfd: ([0-9a-f]+), filename: ([0-9a-f]+)(, | \")")


def probed(text):
    """Returns [(time, (pid, CPU, flags, text))] of the probe's events."""
    return [event for event in events_of(text) if event[1][3].startswith("mine: ")]


def forms(events):
    """Returns flags and texts of the probe's events in the tasks of cat, without the parts that differ between
    tasks."""
    found = (key for _, key in events if ' c="cat"' in key[3])
    return {(key[2], re.sub(r"(file|how)=0x[0-9a-f]+|low=\d+", r"\1", key[3])) for key in found}


@case(configs=(*ONE_VCPU, OLDEST))
def probes_at_the_entries_of_functions(t):
    """A probe of kprobe_events has the format and text of the guest's own, and the arguments of the guest's own system
    call events recorded with it. It records while the guest itself probes the function. A probe of the return is refused
    while the guest probes that return. record -k writes its events, and detach leaves nothing."""
    with t.attach() as traced, tempfile.TemporaryDirectory() as work:
        mine = f"p:mine do_sys_openat2 {FETCHES}"
        t.guest.run(f"cd {OWN}; echo '{mine}' >kprobe_events; echo >trace; echo 1 >events/kprobes/mine/enable")
        traced.echo("kprobe_events", mine)
        traced.echo("events/kprobes/mine/enable", "1")
        t.guest.run(OPENS)
        both = alike(probed(t.guest.run(f"cat {OWN}/trace")), probed(traced.text("trace")))
        together = [forms(events) for events in both]
        assert together[0] and together[0] == together[1], together
        traced.echo("events/kprobes/mine/enable", "0")
        t.guest.run(f"cd {OWN}; echo 'r:back do_sys_openat2' >>kprobe_events; echo 1 >events/kprobes/back/enable")
        traced.echo("kprobe_events", "r:back do_sys_openat2")
        t.hv.fails("echo", t.name, "events/kprobes/back/enable", "1", says=("kprobes:back", "the guest itself uses its function"))
        traced.echo("kprobe_events", "p:free vfs_read", append=True)
        _, _, err = t.hv.run("record", "-e", "kprobes", "--for", "1ms", t.name)
        assert "1 of 2 events cannot be recorded now (the guest itself uses its function): kprobes:back" in err, err
        t.guest.run(f"cd {OWN}; echo 0 >events/kprobes/back/enable; echo '-:back' >>kprobe_events")
        _, _, err = t.hv.run("record", "-p", "function", "-l", "do_sys_openat2", "--for", "1ms", t.name)
        assert "refused" not in err, err
        traced.echo("events/kprobes/free/enable", "1")
        assert traced.text("set_event") == "kprobes:free\n"
        t.guest.run(OPENS)
        assert "free: (vfs_read+" in traced.text("trace")
        traced.echo("events/kprobes/enable", "0")
        traced.echo("trace", "")
        t.guest.run(f"echo >{OWN}/trace")
        traced.echo("kprobe_events", mine)
        own_format = t.guest.run(f"{OPENS}; cd {OWN}; echo 0 >events/kprobes/mine/enable; cat events/kprobes/mine/format")
        own_line, own = t.guest.run(f"cat {OWN}/kprobe_events"), probed(t.guest.run(f"cat {OWN}/trace"))
        assert WITHOUT_ID.sub("", traced.text("events/kprobes/mine/format")) == WITHOUT_ID.sub("", own_format)
        assert traced.text("kprobe_events") == own_line == traced.text("dynamic_events")
        t.guest.run(f"cd {OWN}; echo >kprobe_events; echo >trace; echo 1 >events/syscalls/sys_enter_openat/enable")
        traced.echo("events/kprobes/enable", "1")
        t.guest.run(OPENS)
        traced.echo("events/kprobes/enable", "0")
        calls = events_of(t.guest.run(f"cd {OWN}; echo 0 >events/enable; cat trace; echo >trace"))
        ours = probed(traced.text("trace"))
        own_forms, our_forms = map(forms, alike(own, ours))
        assert own_forms and own_forms == our_forms, (own_forms, our_forms)
        found = [(key[0], *PROBED.fullmatch(key[3]).groups()[:2]) for _, key in ours]
        wanted = [(key[0], *OPENED.match(key[3]).groups()) for _, key in calls]
        wanted = [(pid, *(int(number, 16 if end == ", " else 10) for number in numbers)) for pid, *numbers, end in wanted]
        wanted = [(pid, str((dfd & 0xFFFFFFFF) - (1 << 32)), f"{name:x}") for pid, dfd, name in wanted]
        first = wanted.index(found[0])
        assert len(found) > 9 and wanted[first : first + len(found)] == found, (wanted, found)
        hits = traced.text("kprobe_profile").split()
        assert hits == ["mine", str(len(found)), "0"], hits
        t.hv("echo", "-a", t.name, "kprobe_events", "-:mine")
        data = f"{work}/t.dat"
        recording = t.hv.start("record", "-k", mine, "-o", data, t.name)
        t.await_event(recording, "mine")
        t.guest.run(OPENS)
        t.end_recording(recording)
        if shutil.which("trace-cmd"):
            done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
            report = done.stdout.decode()
            assert re.search(r' mine: .* dfd=-100 .* c="cat" n=5 text="hello" ', report), report[:1000]
        assert traced.text("kprobe_events") == "", traced.text("kprobe_events")
        traced.echo("kprobe_events", "p vfs_open first=$arg1")
        assert traced.text("kprobe_events") == "p:kprobes/p_vfs_open_0 vfs_open first=$arg1\n", traced.text("kprobe_events")
        traced.echo("events/kprobes/enable", "1")
        t.guest.run(f"echo 1 >{OWN}/tracing_on; echo 1 >{OWN}/buffer_size_kb")
        t.note(f"{len(found)} of {len(wanted)} calls")


# Memory read by probes of do_sys_openat2(dfd, filename, how) and vfs_open(path, file): strings of both address spaces,
# unreadable memory, arrays, bits, symbols, the stack, pointers to pointers.
MEMORY = {
    "do_sys_openat2": r"name=+0(%si):ustring again=+u0(%si):string how=+0(%dx):x64 first=+0(%si):s8"
    r" bytes=+0(%si):u8[4] bits=+0(%si):b4@4/16 words=+0(%dx):x32[3] second=$stack1 sixth=$stack6:x32 sp=+8(%sp):symbol",
    "vfs_open": r"name=+0(+40(+8(%di))):string parent=+0(+40(+24(+8(%di)))):string names=+40(+8(%di)):string[1] low=@0x10:string high=@0xffffffff00000000:string"
    r" version=@linux_banner:string at=@linux_banner+6:u8[7] cpus=@nr_cpu_ids:u32 c=$comm",
    # The guest's probe reads these after the trampoline, which must not change them if it does nothing else.
    "do_filp_open": r"ax=%ax r10=%r10 r11=%r11 flags=%flags dfd=%di name=+0(+0(%si)):string orig=%orig_ax:s64",
}
WITHOUT_ID = re.compile(r"(?m)^ID: \d+$")
PLACE = re.compile(r"^(\w+): \([^)]*\)")


def payloads(text):
    """Returns {event: [(pid, arguments)]} of the probes."""
    found = collections.defaultdict(list)
    for _, (pid, _, _, what) in events_of(text):
        match = PLACE.match(what)
        found[match[1]].append((pid, what[match.end() :]))
    return found


@case(configs=(*ONE_VCPU, OLDEST), sanitized=True)
def probes_read_memory(t):
    """Probes that read memory have the data of the guest's own probes for the same calls. Those are set after the
    functions' entries, where the registers are still unchanged."""
    with t.attach() as traced:
        names = {f"m{i}": (function, fetches) for i, (function, fetches) in enumerate(MEMORY.items())}
        own = f"cd {OWN}; echo 0 >tracing_on; echo 4000 >buffer_size_kb; "
        for name, (function, fetches) in names.items():
            traced.echo("kprobe_events", f"p:{name} {function} {fetches}", append=True)
            own += f"for off in 5 9; do echo 'p:{name} {function}+'$off' {fetches}' >>kprobe_events && break; done; "
        traced.echo("events/kprobes/enable", "1")
        text = t.guest.run(
            own + f"echo 1 >events/kprobes/enable; echo >trace; echo 1 >tracing_on; {OPENS}; echo 0 >tracing_on;"
            " echo 0 >events/kprobes/enable; cat trace",
            timeout=300,
        )
        traced.echo("events/kprobes/enable", "0")
        for name in names:
            format_file = f"events/kprobes/{name}/format"
            own_format = t.guest.run(f"cat {OWN}/{format_file}")
            assert WITHOUT_ID.sub("", traced.text(format_file)) == WITHOUT_ID.sub("", own_format), own_format
        own_calls, our_calls = payloads(text), payloads(traced.text("trace", timeout=300))
        for name in names:
            mine, theirs = own_calls[name], our_calls[name]
            if names[name][0] == "do_filp_open":
                assert {call[1].rpartition(" ")[2] for call in mine} == {"orig=-1"}, mine[:3]
                mine = [(pid, what.replace("orig=-1", "orig=0")) for pid, what in mine]
                registers = {what.partition(" dfd=")[0] for _, what in mine}
            first = theirs.index(mine[0])
            assert len(mine) > 9 and theirs[first : first + len(mine)] == mine, (name, mine[:3], theirs[first : first + 3])
        # At the entry itself the guest's own probe uses ftrace, so orig_ax is 0 there as in hvtrace's probes.
        entry = t.guest.run(
            f"cd {OWN}; echo >kprobe_events; echo 'p:entry do_filp_open orig=%orig_ax:s64' >kprobe_events; echo >trace;"
            f" echo 1 >tracing_on; echo 1 >events/kprobes/enable; {OPENS}; echo 0 >events/kprobes/enable; cat trace"
        )
        assert {what for _, what in payloads(entry)["entry"]} == {" orig=0"}, entry[-500:]
        t.guest.run(f"cd {OWN}; echo >kprobe_events; echo 1 >tracing_on; echo >trace; echo 1 >buffer_size_kb")
        t.note(f"{ {name: len(calls) for name, calls in own_calls.items()} }, {len(registers)} different registers")


FINDS = f"{OPENS}; cat /proc/version >/dev/null"
# Return values of functions that FINDS calls: numbers, pointers that are errors, memory at the returned address,
# strings.
RETURNS = {
    "do_sys_openat2": "r:NAME do_sys_openat2 ret=$retval:s32 low=$retval:b4@4/32 c=$comm ax=%ax:x16",
    "getname": "r16:NAME getname name=+0(+0($retval)):string first=+0(+0($retval)):u8[4] as=$retval:b1@63/64",
    "vfs_open": "p:NAME vfs_open%return $retval:s64 at=$stack:b3@0/64",
}
# For kernels whose own return probes have the call's arguments, too.
KEPT = {
    "do_sys_openat2": " dfd=$arg1:s32 asked=+0($arg2):ustring flags=+0($arg3):x64",
    "vfs_open": " name=path->dentry->d_iname:string",
}
# Files that cat opens. ls stats files with the same names.
OF_CAT = re.compile(r"'do_sys_openat2\S+', '\w+', ' name=\"/(absent|proc/version)\"")
RETURNED = re.compile(r"^(\w+): \((\S+) <- (\w+)\)(.*)")


def returned(text):
    """Returns {event: [(caller, function, arguments)]} of each cat of FINDS. Removes its name from the arguments: cat
    keeps the shell's name for a while after its exec."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in text.splitlines():
        match = re.match(r"\s*\S+-(\d+) +\[\d+\] \S+ +\d+\.\d+: (.*)", line)
        what = match and RETURNED.match(match[2])
        if what:
            arguments = re.sub(r' c="\w+"', "", what[4])
            found[match[1]][what[1]].append((what[2], what[3], arguments))
    return [dict(of_task) for of_task in found.values() if OF_CAT.search(str(of_task))]


def in_graph(text):
    """Yields (caller, function, arguments) of the events in a graph, which shows them as comments."""
    for caller, function, arguments in re.findall(r"/\* \w+: \((\S+) <- (\w+)\)(.*) \*/", text):
        yield caller, function, re.sub(r' c="\w+"', "", arguments)


@case(configs=(OLDEST,), further=ONE_VCPU[1:])
def probes_of_returns(t):
    """Return probes have the formats, texts, return values and callers of the guest's own for the same programs, also
    together with tracers of the same functions, which show those callers. Detach works while a probed call is open."""
    with t.attach() as traced:
        kept = KEPT if "kernel return probes support:" in t.guest.run(f"cat {OWN}/README") else {}
        guests = Names(t.guest)
        getname = guests["getname"]
        own, names = f"cd {OWN}; ", {f"r_{function}": RETURNS[function] + kept.get(function, "") for function in RETURNS}
        names = {name: guests.in_text(text, "getname", "d_iname") for name, text in names.items()}
        for name, command in names.items():
            traced.echo("kprobe_events", command.replace("NAME", name), append=True)
            own += f"echo '{command.replace('NAME', name)}' >>kprobe_events; "
        text = t.guest.run(
            f"{own} echo 4000 >buffer_size_kb; echo 1 >events/kprobes/enable; echo >trace; {FINDS}; echo 0 >events/kprobes/enable; cat trace",
            timeout=300,
        )
        ours, theirs = traced.text("kprobe_events"), t.guest.run(f"cat {OWN}/kprobe_events")
        assert ours == theirs, (ours, theirs)
        for name in names:
            format_file = f"events/kprobes/{name}/format"
            own_format = t.guest.run(f"cat {OWN}/{format_file}")
            assert WITHOUT_ID.sub("", traced.text(format_file)) == WITHOUT_ID.sub("", own_format), own_format
        t.guest.run(f"cd {OWN}; echo >kprobe_events; echo >trace; echo 1 >buffer_size_kb")
        own_returns = returned(text)
        assert len(own_returns) == 4 and all(set(found) == set(names) for found in own_returns), (own_returns, text[-3000:])
        traced.echo("set_ftrace_filter", *(getname if function == "getname" else function for function in RETURNS))
        for tracer in ("nop", "function_graph", "function"):
            traced.echo("current_tracer", tracer)
            traced.echo("events/kprobes/enable", "1")
            traced.echo("trace", "")
            t.guest.run(FINDS)
            traced.echo("events/kprobes/enable", "0")
            text = traced.text("trace", timeout=300)
            if tracer == "function_graph":
                ours = collections.Counter(in_graph(text))
                lost = collections.Counter(call for found in own_returns for name in found for call in found[name]) - ours
                assert not lost and re.search(r"do_sys_openat2\(\) \{", text), (lost, ours)
                depths = {len(blanks) // 2 for blanks in re.findall(rf"\|( +){getname}\(", text)}
                assert depths and depths <= {1, 2}, (depths, text[-3000:])
                continue
            ours = returned(text)
            assert [found for found in ours if found in own_returns] == own_returns, (tracer, own_returns, ours)
            if tracer == "function":
                callers = set(re.findall(r" do_sys_openat2 <-(\w+)", text))
                assert callers == {"__x64_sys_openat"}, callers
        profile = traced.text("kprobe_profile").split()
        assert set(profile[2::3]) == {"0"} and all(int(nr) > 5 for nr in profile[1::3]), profile
        traced.echo("current_tracer", "nop")
        traced.echo("kprobe_events", f"r:open {guests['pipe_read']} $retval")
        traced.echo("events/kprobes/open/enable", "1")
        t.guest.run(
            "mkfifo /tmp/p; cat /tmp/p >/tmp/got 2>&1 & echo $! >/tmp/reader; (sleep 9; echo hello) >/tmp/p 2>/dev/null & sleep 2;"
            " grep State /proc/$(cat /tmp/reader)/status"
        )
        traced.echo("events/kprobes/open/enable", "0")
        traced.echo("kprobe_events", "")
    assert t.guest.run("while [ -d /proc/$(cat /tmp/reader) ]; do sleep 1; done; cat /tmp/got; rm /tmp/p /tmp/got", timeout=300) == "hello\n"
    t.note(f"{ {name: sum(len(found[name]) for found in own_returns) for name in names} }")


# Probes of one event at several functions and, if the kernel has them, fprobes.
SEVERAL = (
    "p:several do_sys_openat2 name=+0(%si):string\n"
    "p:several getname name=+0(%di):string\n"
    "r:back getname $retval:b1@63/64\n"
    "p:back vfs_open%return $retval:b1@63/64\n"
)
FPROBES = (
    "f do_sys_openat2 name=+0($arg2):string\n"
    "f vfs_open%return ret=$retval:s32\n"
    "f:mine/value getname name=+0(+0($retval)):string\n"
)
PROBE_EVENT = re.compile(r"\d+\.\d+: (\w+: \(.*)")


@case(configs=ONE_VCPU)
def probes_of_several_functions(t):
    """Several probes of one event, and fprobes if the guest's kernel has them, are shown, removed and recorded like the
    guest's own; a kernel without fprobes refuses them."""
    has_fprobes = "trace_fprobe_create" in t.guest.run("grep -c trace_fprobe_create /proc/kallsyms && echo trace_fprobe_create || true")
    names = Names(t.guest)
    getname, lines = names["getname"], names.in_text(SEVERAL + (FPROBES if has_fprobes else ""), "getname")
    on = "for e in events/kprobes events/fprobes events/mine; do [ ! -d $e ] || echo 1 >$e/enable; done"
    with t.attach() as traced:
        own = t.guest.run(
            f"cd {OWN}; printf '{lines.replace('%', '%%')}' >dynamic_events; cat dynamic_events; echo ----; cat kprobe_events; echo ----;"
            f" echo 4000 >buffer_size_kb; {on}; echo >trace; {FINDS}; echo 0 >events/enable; cat trace; echo ----;"
            f" echo '-:several {getname}' >>kprobe_events; echo '-:back' >>dynamic_events; cat dynamic_events; echo >dynamic_events;"
            " echo 1 >buffer_size_kb",
            timeout=300,
        ).split("----\n")
        if not has_fprobes:
            t.hv.fails("echo", t.name, "dynamic_events", "f vfs_open", says=("Invalid argument",))
        for line in lines.splitlines():
            traced.echo("dynamic_events", line, append=True)
        assert traced.text("dynamic_events") == own[0] and traced.text("kprobe_events") == own[1], own[:2]
        for group in ["kprobes"] + (["fprobes", "mine"] if has_fprobes else []):
            traced.echo(f"events/{group}/enable", "1")
        t.guest.run(FINDS)
        traced.echo("events/enable", "0")
        mine, theirs = (collections.Counter(PROBE_EVENT.findall(text)) for text in (own[2], traced.text("trace", timeout=300)))
        wanted = {what: nr for what, nr in mine.items() if re.search('"/(absent|proc|proc/version)"', what)}
        assert len(wanted) > 5 and not [what for what in wanted if theirs[what] < wanted[what]], (wanted, theirs)
        traced.echo("kprobe_events", f"-:several {getname}", append=True)
        traced.echo("dynamic_events", "-:back", append=True)
        assert traced.text("dynamic_events") == own[3], own[3]
        traced.echo("dynamic_events", "")
        assert traced.text("dynamic_events") == ""
        recording = t.hv.start("record", "-k", "r:mine do_sys_openat2 $retval:s32", t.name)
        t.await_event(recording, "mine")
        t.guest.run("cat /absent 2>/dev/null; true")
        out, err = t.end_recording(recording)
        found = re.findall(r" mine: \(__x64_sys_openat\+\S+ <- do_sys_openat2\) arg1=-2\n", out.decode())
        assert found and traced.text("kprobe_events") == "", (out[-500:], err)
        t.note(f"{len(wanted)} different events; fprobes: {has_fprobes}")


# Functions that are called often, in interrupts, and by memory reads themselves. Most of the memory they read is not
# mapped.
ANYWHERE = {
    "try_to_wake_up": "ax=%ax flags=%flags state=+0(%di):x32 lost=+0(+0(%di)):string from=+0($stack0):u8[8]",
    "handle_mm_fault": "space=+0(+16(%di)):x64[4] at=+0(%si):u8 there=+0(%si):string",
    "search_exception_tables": "at=+0(%di):u8[16] low=@0x10:string high=@0xffffffff00000000:u64",
    "hrtimer_interrupt": "device=+0(%di):x64 name=+0(+0(%di)):string $stack9",
    "__x64_sys_exit_group": "ax=+80(%di):s32 all=+0(%di):x64[21] last=+0(+u152(%di)):string",
}

ANYWHERE_BY_NAME = {f"a{i}": function for i, function in enumerate(ANYWHERE)}


@case(configs=(STANDARD[2],), further=(STANDARD[1],))
def probes_read_anywhere(t):
    """Probes of functions of interrupts, wakeups and page faults read mapped and unmapped memory, nested, together with
    a tracer of all functions. Each detach finds no task in their trampolines."""
    for tracer in ("nop", "function_graph", "function"):
        with t.attach() as traced:
            for name, function in ANYWHERE_BY_NAME.items():
                traced.echo("kprobe_events", f"p:{name} {function} {ANYWHERE[function]}", append=True)
            traced.echo("current_tracer", tracer)
            traced.echo("events/kprobes/enable", "1")
            t.guest.run("for i in 1 2 3 4 5 6 7 8 9; do (ls -R /proc/self | wc -l; cat /absent) >/dev/null 2>&1 & done; wait", timeout=300)
            profile = traced.text("kprobe_profile").split()
            hits = dict(zip(profile[::3], map(int, profile[1::3])))
            # Maybe only the probes' own reads call search_exception_tables; such calls are not recorded.
            assert all(nr or ANYWHERE_BY_NAME[name] == "search_exception_tables" for name, nr in hits.items()), hits
        t.note(f"{tracer}: {hits}")
