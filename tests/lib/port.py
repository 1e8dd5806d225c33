# SPDX-License-Identifier: GPL-2.0-or-later
"""A port of this machine's that nothing uses."""

import random
import socket


def free_port():
    """Free for UDP and for TCP, and none that the kernel gives to connections by itself: such a one, of any other test, is in
    the way of who listens."""
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
