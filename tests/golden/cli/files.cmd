# SPDX-License-Identifier: GPL-2.0-or-later
export CHECK_LEAKS=1
hvtrace attach fake
hvtrace ls fake
hvtrace ls fake nosuch
hvtrace cat fake nosuch
hvtrace echo fake nosuch 1
hvtrace echo fake set_ftrace_filter vfs_read vfs_write
hvtrace cat fake set_ftrace_filter
hvtrace echo --append fake set_ftrace_filter vfs_open
hvtrace cat fake set_ftrace_filter
hvtrace echo fake set_ftrace_filter ksys_read nosuch ksys_write
echo $?
hvtrace cat fake set_ftrace_filter
hvtrace echo fake set_ftrace_filter
hvtrace cat fake set_ftrace_filter
hvtrace echo fake set_ftrace_filter '-a'
hvtrace cat fake set_ftrace_filter
hvtrace detach fake
