# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace echo fake set_ftrace_filter vfs_read vfs_write
hvtrace echo fake current_tracer function
grep -o 'file=.* patched=[^ ]*' $RUN/*/log
hvtrace detach fake
# A name that begins with '-' stands after "--" in a hint.
hvtrace stat -- -web
