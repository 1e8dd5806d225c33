# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace check fake
hvtrace attach fake
hvtrace check fake | grep -E '^(attached|guest_ftrace)'
FAKE_BUSY=1 hvtrace check fake
hvtrace detach fake
# The guest kills the process that reads it.
hvtrace check deadly
