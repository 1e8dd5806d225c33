# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace record -p function -l 'vfs_*' fake --for 100ms
hvtrace record -p function -P 1 fake --for 100ms
hvtrace record -p nop fake --for 100ms
hvtrace echo fake control refuse 2
hvtrace record -p function fake --for 100ms
hvtrace echo fake control refuse 7
hvtrace record -p nop fake --for 100ms
hvtrace echo fake control refuse 1
hvtrace echo fake control emit 1
hvtrace record -p function -l 'vfs_*' fake --for 100ms
hvtrace echo fake control emit 1
hvtrace record -p function fake --for 100ms
hvtrace echo fake control refuse 0
hvtrace echo fake control emit 1
hvtrace record -p function fake --for 100ms
hvtrace echo fake control overrun 7
hvtrace record -p function fake --for 100ms
hvtrace detach fake
