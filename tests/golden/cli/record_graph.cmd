hvtrace attach fake
hvtrace record -p function_graph -g vfs_read -g vfs_write fake -- sh -c '
	echo "$(hvtrace cat fake current_tracer)" >&2
	hvtrace cat fake set_graph_function >&2'
echo "set_graph_function: $(hvtrace cat fake set_graph_function)"
hvtrace detach fake
