# SPDX-License-Identifier: GPL-2.0-or-later
# stat and the session's log report pids in set_ftrace_pid that no task of the guest has.
hvtrace attach fake >/dev/null
hvtrace echo fake set_ftrace_pid 1
hvtrace stat fake | grep "no such task"
hvtrace echo fake set_ftrace_pid 4242
hvtrace stat fake | grep "no such task"
hvtrace stat --json fake | grep -A2 missing_tasks
sed -n 's/^[^ ]* //; /such task/p' $RUN/*/log
hvtrace detach fake
