# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace record -p function_graph -g vfs_read -g vfs_write fake -- sh -c '
	hvtrace cat fake instances/record-$PPID/current_tracer >&2
	hvtrace cat fake instances/record-$PPID/set_graph_function >&2'
echo "set_graph_function: $(hvtrace cat fake set_graph_function)"
hvtrace detach fake
