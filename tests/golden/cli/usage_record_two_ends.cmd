# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record web1 -p function --for 1 -- true
