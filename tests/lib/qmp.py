"""Commands to a QMP socket. Leaves to others: whose it is; events are passed over."""

import json
import socket


def ask(path, *commands, timeout=60):
    """Answers of COMMANDS, (name, arguments) each: {"return": ...} or {"error": ...}."""
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
