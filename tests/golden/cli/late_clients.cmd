# SPDX-License-Identifier: GPL-2.0-or-later
# Above the limit, the service drops the oldest extra clients, because new ones had no time to ask.
hvtrace attach fake
python3 -c "
import socket, sys, time

def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    return client

def is_closed(client):
    try:
        return client.recv(1, socket.MSG_DONTWAIT) == b''
    except BlockingIOError:
        return False

clients = [connect() for _ in range(64)]
extra = [connect() for _ in range(7)]
while sum(map(is_closed, clients + extra)) < 3:
    time.sleep(0.01)
print('closed:', *(number for number, client in enumerate(extra) if is_closed(client)))" $RUN/*/sock
hvtrace detach fake
