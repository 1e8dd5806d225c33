# SPDX-License-Identifier: GPL-2.0-or-later
# What needs the mounted tree says what is lost; the session, its files and a trace are there.
hvtrace attach --mount fake
echo $?
for verb in "mount fake" "exec fake true" "sh fake -c true" "umount fake"; do
	hvtrace $verb
	echo "$verb: $?"
done
hvtrace cat fake current_tracer
hvtrace echo fake set_ftrace_filter vfs_read
hvtrace detach fake
