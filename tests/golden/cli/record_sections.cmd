# SPDX-License-Identifier: GPL-2.0-or-later
# The longest section follows the events; -l also records functions. With a file it is the only
# output, on standard error if the file is standard output.
hvtrace attach fake
hvtrace echo fake control emit 2
hvtrace record -p irqsoff fake --for 100ms
hvtrace record -p preemptoff -l 'vfs_*' fake -- sh -c '
	for f in current_tracer options/function-trace set_ftrace_filter; do
		hvtrace cat fake instances/record-$PPID/$f >&2
	done'
echo "-o FILE"
hvtrace record -p preemptirqsoff -o "$RUN.txt" fake --for 100ms
echo "-o -"
hvtrace record -p preemptirqsoff --format text -o - fake --for 100ms
hvtrace run --kernel vmlinuz -p irqsoff
hvtrace detach fake
