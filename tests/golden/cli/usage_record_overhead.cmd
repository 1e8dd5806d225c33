# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function --max-overhead=x fake
