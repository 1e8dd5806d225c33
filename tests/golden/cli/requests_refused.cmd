# SPDX-License-Identifier: GPL-2.0-or-later
# Requests that no command makes.
hvtrace attach fake >/dev/null
python3 - $RUN/*/sock $RUN/*/log <<'PY'
import errno, re, socket, struct, sys, time

HEAD = struct.Struct("<IHHIIII")
VERSION, OPEN, READ, MKDIR, OPEN_PROC, MOUNT, ERROR = 3, 2, 3, 14, 16, 17, 0x81


def receive(client, nr):
    data = b""
    while len(data) < nr:
        data += client.recv(nr - len(data)) or sys.exit("closed")
    return data


def ask(client, kind, data=b"", handle=0, arg=0, version=VERSION):
    """The error of the answer, or None."""
    client.sendall(HEAD.pack(HEAD.size + len(data), version, kind, handle, arg, 0, 1) + data)
    size, _, answer, _, code, _, _ = HEAD.unpack(receive(client, HEAD.size))
    text = receive(client, size - HEAD.size).decode()
    return f"{errno.errorcode[code]}: {text}" if answer == ERROR else None


def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    return client


client = connect()
print(ask(client, READ, handle=9))
print(ask(client, 99))
print(ask(client, OPEN, b"tra\0ce"))
print(ask(client, OPEN_PROC, b"self/maps"))
for directory in (b"/a\0b", b"", b"a"):
    print(ask(client, MOUNT, directory))
print(next(filter(None, (ask(client, OPEN, b"current_tracer") for _ in range(5000))), None))
print(ask(connect(), READ, version=2))
# another client uses the instance of one that has gone
print(ask(client, MKDIR, b"instances/mine", arg=1))
other = connect()
print(ask(other, OPEN, b"instances/mine/trace_pipe"))
client.close()
while not (said := re.findall("its client has gone: .*", open(sys.argv[2]).read())):
    time.sleep(0.02)
print(*said)
PY
hvtrace detach fake >/dev/null
