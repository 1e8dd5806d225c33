# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace record -k 'p:mine vfs_read a=%di' -e irq fake -- sh -c '
	for f in kprobe_events instances/record-$PPID/set_event; do
		hvtrace cat fake $f >&2
	done'
hvtrace cat fake kprobe_events
hvtrace record -k 'vfs_read' fake --for 1
hvtrace ls fake instances
hvtrace detach fake
