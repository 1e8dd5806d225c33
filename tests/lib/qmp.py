# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends commands to a QMP socket, and ignores events."""

import json
import socket


def ask(path, *commands, timeout=60):
    """Returns the answers to COMMANDS, pairs (name, arguments). An answer is {"return": ...} or {"error": ...}."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(timeout)
        one.connect(path)
        file = one.makefile("rw")
        file.readline()
        answers = []
        for name, arguments in (("qmp_capabilities", {}), *commands):
            file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
            file.flush()
            answer = json.loads(file.readline())
            while "event" in answer:
                answer = json.loads(file.readline())
            answers.append(answer)
        return answers[1:]
