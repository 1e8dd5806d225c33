# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function -P init --for 1 web1
