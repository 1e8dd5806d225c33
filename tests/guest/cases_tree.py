# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree, compared with the guest's own tracefs: equal operations have equal results."""

import glob
import os
import re
import subprocess

from lib.names import Names
from lib.suite import IN_TURN, STANDARD, case
from lib.wait import until

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conformance")
OWN = "/sys/kernel/tracing"


def plays():
    return sorted(os.path.basename(path)[: -len(".play")] for path in glob.glob(f"{HERE}/*.play"))


def script(name):
    with open(f"{HERE}/{name}.play", encoding="utf-8") as file:
        return file.read()


def known():
    """Returns {(play, command): reason}; the play "*" means any."""
    found = {}
    with open(f"{HERE}/differences", encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                play, command, reason = (word.strip() for word in line.split("|"))
                found[play, command] = reason
    return found


def blocks(transcript):
    """Returns [(command, its result)]."""
    found = []
    for line in transcript.splitlines():
        if line.startswith("$ "):
            found.append((line[2:].strip(), []))
        elif found:
            found[-1][1].append(line)
    return found


def blanked(lines):
    """Blanks everything that differs between any two runs: times, tasks and CPUs, bytes that were never written. Sorts
    probes, which are listed in the order of a hash table."""
    text = "\n".join(lines)
    text = re.sub(r"^( +|= \d+ '? *)\S+-\d+ +\[\d+\] \S{5,8} +\d+\.\d{6}:", r"\1TASK:", text, flags=re.M)
    text = re.sub(r"^ +\S+-\d+ +\[\d+\] \S{5,8} +\d{7,}:", "TASK, COUNTER:", text, flags=re.M)
    text = re.sub(r"^ +\S+-\d+ +\[\d+\] \S{5,8} +\d{7,}:", "TASK, COUNTER:", text, flags=re.M)
    text = re.sub(r"= (\d+) '( *)\S+-\d+ *'", "= N 'TASK'", text)
    text = re.sub(r"(: a) +\S+-\d+ +\[\d+\] \S{5,8} +\d+\.\d{6}:", r"\1TASK:", text)
    text = re.sub(r"= \d+ ' *(TASK: tracing_mark_write)", r"= N '\1", text)
    text = re.sub(r"^= \d+ '\d* +\[\d+\] \S{5,8} +\d+\.\d{6}:", "= N 'TASK:", text, flags=re.M)
    # latency format: the CPU that made the buffer, and lengths of lines
    text = re.sub(r"^(# latency: .*), CPU#\d+ ", r"\1, CPU#N ", text, flags=re.M)
    text = re.sub(r"^= \d+ ('# tracer: \S+\n#\n# \S+ latency trace)", r"= N \1", text)
    text = re.sub(r"^(= \d+ ')? *\S+-\d+ +\d+\S{5,8} +\d+us.:", "TASK:", text, flags=re.M)
    text = re.sub(r"^ *\S+ +\d+ +\d+ \d+ [0-9a-f]{8} ([0-9a-f]{8}) \[[0-9a-f]+\] [\d.]+ms \(\+[\d.]+ms\):", r"TASK \1:", text, flags=re.M)
    text = re.sub(r"^\d+ \d+ \d+ # [0-9a-f]+ ", "RAW ", text, flags=re.M)
    text = re.sub(r"^ +TASK:", "TASK:", text, flags=re.M)
    text = re.sub(r"^\[ *\d+\.\d{6}\] ", "[TIME] ", text, flags=re.M)
    # after the written bytes the kernel shows older bytes of its buffer
    text = re.sub(r"(buf:(?: \w\w){4})((?: \w\w)*)", lambda m: m[1] + " .." * m[2].count(" "), text)
    lines = text.split("\n")
    probes = [i for i, line in enumerate(lines) if re.match(r"\S+:[a-z_]+:(unlimited|count=)", line)]
    for i, line in zip(probes, sorted(lines[i] for i in probes)):
        lines[i] = line
    return lines


def compare(play, own, ours, differences):
    """Returns [differences], and the number of known differences."""
    wrong, nr_known = [], 0
    if len(own) != len(ours):
        return [f"{play}: {len(own)} commands by the guest, {len(ours)} by hvtrace"], 0
    for (command, one), (_, other) in zip(own, ours):
        one, other = blanked(one), blanked(other)
        if one == other:
            continue
        if (play, command) in differences or ("*", command) in differences:
            nr_known += 1
            continue
        at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        wrong.append(f"{play}: $ {command}: own {one[at:at + 3]}, hvtrace {other[at:at + 3]} (line {at + 1})")
    return wrong, nr_known


def play_own(t, name, before):
    body = script(name)
    return t.guest.run(f"{before}\nplayer {OWN} <<'END_OF_PLAY'\n{body}\nEND_OF_PLAY\n")


def play_ours(t, name, player, where):
    player = os.path.join(t.hv.helpers, "tests", player)
    done = subprocess.run([player, where], input=script(name).encode(), capture_output=True, timeout=120, check=True)
    return done.stdout.decode(errors="replace")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


CHOICE_SECONDS = 20  # of CPU time, with the sanitizers; about one is usual
TRIES = 3  # because the time of a paused machine counts as CPU time of the process


@case(configs=STANDARD[:1], alone=True)
def many_functions_are_chosen_quickly(t):
    """20,000 names or indices in one write."""
    with t.attach() as traced:
        names = [line.split()[0] for line in traced.text("available_filter_functions").splitlines()]
        names = list(dict.fromkeys(name for name in names if "__ftrace_invalid" not in name))[:20000]
        service = traced.stat()["service_pid"]

        def choose(words):
            begin = cpu_seconds(service)
            traced.echo("set_ftrace_filter", *words)
            return cpu_seconds(service) - begin

        took = []
        for words in (names, [str(index) for index in range(1, 20001)]):
            tries = (choose(words) for _ in range(TRIES))
            took.append(next((seconds for seconds in tries if seconds < CHOICE_SECONDS), CHOICE_SECONDS))
            chosen = {line.split()[0] for line in traced.text("set_ftrace_filter").splitlines()}
            assert chosen >= set(names) if words is names else len(chosen) > 15000, len(chosen)
    assert max(took) < CHOICE_SECONDS, took
    t.note("names %.1f s, indices %.1f s of a CPU" % tuple(took))


@case(configs=IN_TURN[1:])
def tree_behaves_as_tracefs(t):
    """tests/conformance: equal writes and reads on the guest's tracefs, on hvtrace's tree, and on the mounted tree."""
    names = plays()
    differences = known()
    mount = f"/run/hvtrace-test/{t.guest.name}-tree"
    t.guest.run("insmod /modules/dummy.ko")
    try:
        own = {name: play_own(t, name, f"echo > {OWN}/trace") for name in names}
        with t.attach():
            (run_dir,) = t.hv.run_dirs(t.guest.name)
            ours = {name: play_ours(t, name, "conformance_player", f"{run_dir}/sock") for name in names}
        os.makedirs(mount)
        with t.attach(f"--mount={mount}"):
            mounted = {name: play_ours(t, name, "conformance_player_files", mount) for name in names if name != "empty"}
        os.rmdir(mount)
    finally:
        t.guest.run(f"rmmod dummy; echo nop > {OWN}/current_tracer; echo > {OWN}/trace")
    wrong, nr_known, nr = [], 0, 0
    played = [("", name, ours) for name in names] + [("mounted: ", name, mounted) for name in mounted]
    for what, name, theirs in played:
        more, known_here = compare(name, blocks(own[name]), blocks(theirs[name]), differences)
        wrong += [what + line for line in more]
        nr_known += known_here
        nr += len(blocks(own[name]))
    t.note(f"{len(names)} plays, {nr} commands, {nr_known} known differences")
    assert not wrong, f"{len(wrong)} differ:\n       " + "\n       ".join(wrong[:40])


class Player:
    """A client of the session's socket that keeps files open."""

    def __init__(self, t):
        (run_dir,) = t.hv.run_dirs(t.guest.name)
        program = os.path.join(t.hv.helpers, "tests", "conformance_player")
        self.process = subprocess.Popen([program, f"{run_dir}/sock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def play(self, *lines):
        """Returns tracing_on after the lines, which must not print anything."""
        self.process.stdin.write("".join(line + "\n" for line in (*lines, "cat tracing_on")).encode())
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()) not in (b"0\n", b"1\n"):
            assert self.process.poll() is None, "the player has ended by itself"
        return line.decode()

    def kill(self):
        self.process.kill()
        self.process.wait()


def check_pause(t, traced, names):
    """While trace is being read, nothing is recorded, but commands still act."""
    traced.echo("options/pause-on-trace", "1")
    traced.echo("set_ftrace_filter", f"{names['do_mkdirat']}:traceoff", append=True)
    traced.echo("trace", "")
    player = Player(t)
    assert player.play("open 1 r trace") == "1\n", "a pause switches tracing_on"
    t.guest.run("cat /proc/version; mkdir /tmp/d; rmdir /tmp/d")
    assert player.play() == "0\n" == player.play("close 1"), "a traceoff in a pause was lost"
    player.kill()
    assert names["do_filp_open"] not in traced.text("trace"), "something was recorded in a pause"
    traced.echo("options/pause-on-trace", "0")
    traced.echo("set_ftrace_filter", f"!{names['do_mkdirat']}:traceoff", append=True)


@case(configs=(STANDARD[2],), further=(STANDARD[0],), sanitized=True)
def commands_switch_recording(t):
    """traceoff stops recording at its function, once per count; traceon starts it; afterwards nothing of them
    remains."""
    names = Names(t.guest)
    opens, makes, removes = names["do_filp_open"], names["do_mkdirat"], names["do_rmdir"]
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", opens)
        traced.echo("set_ftrace_filter", f"{removes}:traceoff:1", append=True)
        traced.echo("current_tracer", "function")
        t.guest.run("mkdir /tmp/d; rmdir /tmp/d; cat /proc/version")
        assert traced.text("tracing_on") == "0\n", "tracing is on"
        before = traced.text("trace")
        assert opens in before, "nothing was recorded before"
        t.guest.run("cat /proc/version")
        assert traced.text("trace") == before, "something was recorded after the function"
        assert f"{removes}:traceoff:count=0" in traced.text("set_ftrace_filter")
        traced.echo("tracing_on", "1")
        t.guest.run("mkdir /tmp/d; rmdir /tmp/d")
        assert traced.text("tracing_on") == "1\n", "a count of 0 still acts"
        traced.echo("tracing_on", "0")
        traced.echo("set_ftrace_filter", f"{makes}:traceon", append=True)
        t.guest.run("mkdir /tmp/d; cat /proc/version; rmdir /tmp/d")
        assert traced.text("tracing_on") == "1\n", "tracing is still off"
        traced.echo("set_ftrace_filter", "!*:traceon", append=True)
        assert "traceon" not in traced.text("set_ftrace_filter")
        check_pause(t, traced, names)
        traced.echo("current_tracer", "nop")
        assert removes in traced.text("enabled_functions"), "the command was removed with the tracer"
        traced.echo("set_ftrace_filter", "*:traceoff")
        traced.echo("tracing_on", "1")
        t.guest.run("cat /proc/version")
        assert traced.text("tracing_on") == "0\n", "tracing is on although every function stops it"


@case(configs=(STANDARD[0],))
def commands_executed_by_the_host(t):
    """dump stops recording and writes the events before it; traceoff in one instance; hundreds of counts."""
    names = Names(t.guest)
    opens, makes, removes = names["do_filp_open"], names["do_mkdirat"], names["do_rmdir"]
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", opens, makes)
        traced.echo("set_ftrace_filter", f"{removes}:dump", append=True)
        traced.echo("current_tracer", "function")
        t.guest.run("mkdir /tmp/d; rmdir /tmp/d; cat /proc/version")
        assert traced.text("tracing_on") == "0\n", "tracing is still on"
        assert f"{removes}:dump:count=0" in traced.text("set_ftrace_filter")
        while not (dumps := t.hv.stat(t.name)["dumps"])["written"]:
            assert os.path.exists(dumps["path"]), "no dump was begun"
        path = dumps["path"]
        with open(path, encoding="ascii") as file:
            lines = file.read().splitlines()
        os.unlink(path)
        assert re.fullmatch(rf"# [-0-9T:.]+Z {removes}:dump on CPU [01] by task \d+", lines[0]), lines[0]
        assert lines[1] == "Dumping ftrace buffer:" and lines[2] == lines[-1] == 33 * "-", f"{lines}"
        events = [re.fullmatch(r" *\S+-\d+ +[01]\S{5,8} +\d+us.: (\w+) <-\w+", line) for line in lines[3:-1]]
        assert all(events), f"{lines}"
        functions = [event[1] for event in events]
        assert functions.count(makes) == 1, f"{functions}"
        assert not [line for line in traced.text("trace").splitlines() if line[0] != "#"], "the buffer still has the dumped events"

        t.hv("sh", t.name, "-c", "mkdir instances/a instances/b")
        for where in ("instances/a/", "instances/b/"):
            traced.echo(f"{where}set_ftrace_filter", opens, removes)
            traced.echo(f"{where}current_tracer", "function")
        traced.echo("instances/a/set_ftrace_filter", f"{removes}:traceoff:1", append=True)
        t.guest.run("mkdir /tmp/d; rmdir /tmp/d; cat /proc/version")
        assert [traced.text(f"instances/{name}/tracing_on") for name in "ab"] == ["0\n", "1\n"]
        a, b = (
            [line.split()[4] for line in traced.text(f"instances/{name}/trace").splitlines() if line[0] != "#"]
            for name in "ab"
        )
        assert a == b[: b.index(removes)] and len(b) > len(a) + 1, f"of a: {a}, of b: {b}"
        t.hv("sh", t.name, "-c", "rmdir instances/a instances/b")

        traced.echo("set_ftrace_filter", "do_*:traceoff:2")
        nr = traced.text("set_ftrace_filter").count(":count=2")
        assert nr > 200, f"only {nr} functions"
        traced.echo("tracing_on", "1")
        t.guest.run("mkdir /tmp/d; rmdir /tmp/d")
        assert traced.text("tracing_on") == "0\n", "tracing is on"
        assert traced.text("set_ftrace_filter").count(":count=1") == 1, "not exactly one function has stopped recording"
    t.note(f"{nr} functions with a count")


@case(configs=(STANDARD[0],))
def a_killed_writer_publishes_nothing(t):
    """A client of the socket that dies between truncation, a word and close leaves the filter unchanged."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("current_tracer", "function")
        for words in ((), ("vfs_wr",), ("vfs_write vfs_open",)):
            player = Player(t)
            player.play("open 1 wt set_ftrace_filter", *(f"write 1 {word}" for word in words))
            player.kill()
            assert traced.text("set_ftrace_filter") == "vfs_read\n", f"after {words}: another filter"
            assert traced.text("enabled_functions").split() == ["vfs_read", "(1)"], f"after {words}"


@case(configs=(STANDARD[0],), sanitized=True)
def masks_forks_and_thread_groups(t):
    """tracing_cpumask acts in the guest, function-fork follows a task's children, saved_tgids has thread groups."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_*")
        for tracer, cpus in (("function", r"\[(\d+)\]"), ("function_graph", r"^ (\d)\)")):
            traced.echo("current_tracer", tracer)
            for cpu in (0, 1):
                traced.echo("tracing_cpumask", str(1 << cpu))
                traced.echo("trace", "")
                t.guest.run("taskset 1 cat /proc/version; taskset 2 cat /proc/version; taskset 1 cat /proc/version")
                seen = set(re.findall(cpus, traced.text("trace"), re.M))
                assert {int(found) for found in seen} == {cpu}, f"{tracer}, mask of {cpu}: {seen}"
                assert traced.text(f"per_cpu/cpu{1 - cpu}/stats").startswith("entries: 0\noverrun: 0\n"), "recorded by the guest"
        traced.echo("tracing_cpumask", "3")
        traced.echo("current_tracer", "function")
        traced.echo("options/record-tgid", "1")
        script = "while [ ! -e /tmp/go ]; do :; done; (cat /proc/version; read end </tmp/end); cat /proc/uptime"
        t.guest.run(f"rm -f /tmp/go /tmp/end; mkfifo /tmp/end; ({script}) >/dev/null 2>&1 & echo $! >/tmp/parent")
        parent = t.guest.run("cat /tmp/parent").strip()
        traced.echo("set_ftrace_pid", parent)
        traced.echo("options/function-fork", "1")
        assert "wake_up_new_task" not in traced.text("enabled_functions")
        t.guest.run("touch /tmp/go")
        assert until(lambda: len(traced.text("set_ftrace_pid").split()) > 1), "the child is not in set_ftrace_pid"
        listed = traced.text("set_ftrace_pid").split()
        assert parent in listed, f"of {parent}: {listed}"
        t.guest.run(f"echo >/tmp/end; while [ -d /proc/{parent} ]; do sleep 0.1; done; rm /tmp/go /tmp/end")
        traced.echo("options/function-fork", "0")
        # All tasks have ended. Their list stays because an empty one would mean all tasks.
        assert traced.text("set_ftrace_pid") != "no pid\n"
        lines = [line for line in traced.text("trace").splitlines() if not line.startswith("#")]
        tasks = {line.split("(")[0].split("-")[-1].strip() for line in lines}
        assert len(tasks) >= 4, f"children of {parent}: {tasks}"
        assert all(re.search(r"\( +\d+\)", line) for line in lines), lines[:3]
        assert re.search(rf"^{parent} {parent}$", traced.text("saved_tgids"), re.M), "no thread group"
