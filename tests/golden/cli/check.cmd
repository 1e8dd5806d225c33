# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace check fake
hvtrace attach fake
hvtrace check fake | grep -E '^(attached|guest_ftrace)'
hvtrace detach fake
