# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace record -e 'sched:sched_wak*' -e irq -e 'local_*' -e '*:*' -P 1 fake -- sh -c '
	for f in current_tracer set_event set_event_pid; do
		hvtrace cat fake instances/record-$PPID/$f >&2
	done'
hvtrace record -e 'sched:no*' fake --for 1
hvtrace record -g vfs_read -e irq fake --for 1
# events of the host only by their system's name
hvtrace record -e 's*_waking' -e 'host:*waking' fake -- sh -c 'hvtrace cat fake instances/record-$PPID/set_event >&2'
hvtrace record -e '*:sched_waking' fake -- sh -c 'hvtrace cat fake instances/record-$PPID/set_event >&2'
# an event that two globs match is enabled once
hvtrace record -e 's*_waking' -e '*:sched_wak*' fake -- sh -c 'hvtrace cat fake instances/record-$PPID/set_event >&2'
# filters
hvtrace record -e 'sched:sched_wak*' -f 'waking > 0' -e irq -e sched_waking -f 'sched' -f 'x == "y"' fake -- sh -c \
	'hvtrace cat fake instances/record-$PPID/filter >&2'
hvtrace record -e sched -f no_such fake --for 1
hvtrace record -e nothing -f no_such fake --for 1
hvtrace record -f x -e sched fake --for 1
hvtrace ls fake instances
hvtrace detach fake
