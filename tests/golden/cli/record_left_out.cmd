# SPDX-License-Identifier: GPL-2.0-or-later
# A busy, removed or unavailable event is skipped if a glob matches it; naming it fails,
# and so does any other refusal.
hvtrace attach fake
for errno in 16 19 95; do
	hvtrace echo fake control wakeup $errno
	hvtrace record -e 'sched:sched_wak*' fake -- sh -c 'hvtrace cat fake instances/record-$PPID/set_event >&2'
done
hvtrace record -e 'sched:*wakeup' fake --for=100ms
hvtrace record -e 'sched:sched_wakeup' fake --for=100ms
hvtrace echo fake control wakeup 28
hvtrace record -e 'sched:sched_wak*' fake --for=100ms
hvtrace ls fake instances
hvtrace detach fake
