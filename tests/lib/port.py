# SPDX-License-Identifier: GPL-2.0-or-later
import random
import socket


def free_port():
    """Returns a port that is free for UDP and TCP and outside the ephemeral range: the kernel could give an ephemeral
    port to a connection of another test before the caller listens."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first, last = map(int, file.read().split())
    ports = [port for port in range(10000, 65536) if not first <= port <= last] or range(10000, 65536)
    for port in random.sample(ports, 100):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            try:
                udp.bind(("127.0.0.1", port))
                tcp.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise OSError("100 ports in use")
