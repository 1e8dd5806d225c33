# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace echo fake current_tracer function
hvtrace echo fake set_ftrace_filter vfs_read
hvtrace record -p function -l vfs_write fake 2>$RUN.err &
records $! function
hvtrace record -p function fake -- true
hvtrace cat fake set_ftrace_filter
hvtrace cat fake instances/record-$!/set_ftrace_filter
kill -TERM $!
wait $! 2>/dev/null
hvtrace ls fake instances
hvtrace cat fake current_tracer
hvtrace detach fake
