# SPDX-License-Identifier: GPL-2.0-or-later
# Verbs that need the mounted tree report what is missing; the session, its files and a trace work.
hvtrace attach --mount fake
echo $?
for verb in "mount fake" "exec fake true" "sh fake -c true" "umount fake"; do
	hvtrace $verb
	echo "$verb: $?"
done
hvtrace cat fake current_tracer
hvtrace echo fake set_ftrace_filter vfs_read
hvtrace detach fake
