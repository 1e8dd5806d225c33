# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace echo fake control emit 2
hvtrace record -p function -l 'vfs_*' -n vfs_read -P 1 fake --for 200ms
for f in current_tracer set_ftrace_filter set_ftrace_notrace set_graph_function set_ftrace_pid tracing_on; do
	echo "$f: $(hvtrace cat fake $f)"
done
hvtrace ls fake instances
hvtrace detach fake
