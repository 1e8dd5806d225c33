# SPDX-License-Identifier: GPL-2.0-or-later
export CHECK_LEAKS=1
hvtrace attach fake
hvtrace mkdir fake instances/a instances/b
hvtrace mkdir fake instances/a
echo $?
hvtrace mkdir fake elsewhere
hvtrace ls fake instances
hvtrace rmdir fake instances/a
hvtrace ls fake instances
hvtrace echo fake set_ftrace_filter vfs_read
hvtrace echo fake current_tracer function
hvtrace echo fake tracing_on 0
hvtrace reset fake
for f in current_tracer set_ftrace_filter tracing_on; do
	echo "$f: $(hvtrace cat fake $f)"
done
hvtrace detach fake
hvtrace help rmdir
hvtrace help nothing
