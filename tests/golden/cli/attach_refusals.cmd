# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach nosuch
hvtrace attach --via inject fake
hvtrace attach --vmlinux /dev/null fake
