# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace echo fake control emit 100000
hvtrace record -p function fake --for 1m | head -1
no_record
hvtrace detach fake
