# SPDX-License-Identifier: GPL-2.0-or-later
# The host's part of calls, with and without steal time in the guest; and in events as
# lines of JSON.
hvtrace attach fake
hvtrace echo fake control calls
hvtrace hist fake vfs_read --host-time --for=100ms
hvtrace echo fake control steal
hvtrace echo fake control 'raw 8'
hvtrace hist fake vfs_read --host-time --for=100ms
hvtrace echo fake control 'raw 8'
hvtrace hist fake vfs_read --host-time --json --for=100ms
hvtrace echo fake control 'raw 8'
hvtrace hist fake vfs_read --for=100ms
hvtrace echo fake control 'raw 2'
hvtrace record fake -p function_graph --host-time --for=100ms -o - --format=jsonl
hvtrace hist fake sched:sched_waking --host-time
hvtrace record fake -p function --host-time
hvtrace detach fake
