# SPDX-License-Identifier: GPL-2.0-or-later
# N clients that connect and stay. A client that is refused, or too late, leaves.
stay() {
	python3 -c "
import socket, sys
clients = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[1]))]
for client in clients:
    client.connect(sys.argv[2])
clients[0].recv(1)" $1 $RUN/*/sock 2>/dev/null &
}
hvtrace attach fake
stay 64
while hvtrace stat fake >/dev/null 2>&1; do stay 1; done
hvtrace cat fake current_tracer
echo $?
hvtrace stat fake
hvtrace detach fake
wait
