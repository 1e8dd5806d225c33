hvtrace attach fake
hvtrace record -p function -l 'vfs_*' fake --for 1m &
tracer_is function
kill -TERM $!
wait $! 2>/dev/null
echo $?
hvtrace cat fake current_tracer
hvtrace cat fake set_ftrace_filter
hvtrace detach fake
