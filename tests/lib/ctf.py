# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses babeltrace2's text output for a CTF trace."""

import re
import subprocess

LINE = re.compile(r"\[(\d+)\] \(\+[\d?]+\) (.*?): (\{ cpu_id = .*)$")
LOST = re.compile(r"WARNING: Tracer discarded (\d+) events? .* within stream \"[^\"]*/vcpu(\d+)\"")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],=]|[^\s{}\[\],="]+')


def _value(tokens):
    """A structure becomes a dict, an array a list."""
    token = tokens.pop(0)
    if token == "{":
        found = {}
        while tokens[0] != "}":
            name = tokens.pop(0)
            assert tokens.pop(0) == "=", (name, tokens[:5])
            found[name] = _value(tokens)
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        return found
    if token == "[":
        found = []
        while tokens[0] != "]":
            assert tokens[:1] == ["["] and tokens[2:4] == ["]", "="], tokens[:5]
            del tokens[:4]
            found.append(_value(tokens))
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        return found
    if token.startswith('"'):
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return int(token, 0)


def _event(line):
    match = LINE.match(line)
    assert match, line
    tokens = TOKEN.findall(match[3])
    packet = _value(tokens)
    assert tokens.pop(0) == ","
    context = _value(tokens)
    fields = _value(tokens[1:]) if tokens else {}
    return {"event": match[2], "time": int(match[1]), "cpu": packet["cpu_id"], "fields": fields, **context}


def read(path, patience):
    """Returns the events of a trace, and the number of lost events per vCPU."""
    done = subprocess.run(["babeltrace2", "--clock-cycles", path], capture_output=True, timeout=patience)
    errors = done.stderr.decode()
    lost = {}
    for number, cpu in LOST.findall(errors):
        lost[int(cpu)] = lost.get(int(cpu), 0) + int(number)
    assert done.returncode == 0 and not re.sub(r"\(stream class ID: 0, stream ID: \d+\)\.", "", LOST.sub("", errors)).strip(), errors
    return [_event(line) for line in done.stdout.decode().splitlines()], lost


def visible(text):
    """Returns a string of JSON lines, whose characters stand for bytes, as a terminal may show it."""
    raw = text.encode("latin-1")
    return "".join(c if c.isprintable() else "?" for c in raw.decode("utf-8", "replace").replace("\ufffd", "?"))


def agree(got, wanted):
    """Returns whether a field equals WANTED, the field in JSON lines."""
    if isinstance(wanted, (int, list)):
        return got == wanted
    if isinstance(got, list):  # WANTED is bytes in hex
        width = len(wanted) // 2 // len(got) if got else 1
        return b"".join(number.to_bytes(width, "little") for number in got) == bytes.fromhex(wanted)
    return got == (int(wanted, 16) if isinstance(got, int) else visible(wanted))


def rounded(nanoseconds):
    """Rounds a time as `trace` does."""
    micros = (nanoseconds + 500) // 1000
    return f"{micros // 10**6}.{micros % 10**6:06}"


def calls(events):
    """Returns the calls of functions in the form that lib/recording.py expects."""
    found = []
    for event in events:
        seconds = rounded(event["time"])
        assert event["fields"]["parent"] == "ksys_read" and event["flags"] == 1, event
        found.append((event["comm"], str(event["pid"]), f"{event['cpu']:03}", seconds, event["event"], event["fields"]["function"]))
    return found
