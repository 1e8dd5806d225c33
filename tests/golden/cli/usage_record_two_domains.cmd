# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function --for 1 web1 web2
