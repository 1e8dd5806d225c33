# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at processes of this host."""

import os


def has_open(pid, path):
    try:
        return path in [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:  # it has ended, or is calling execve()
        return False
