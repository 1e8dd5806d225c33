# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace list
hvtrace attach fake
hvtrace list
hvtrace detach fake
hvtrace list --json
