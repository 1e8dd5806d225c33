# SPDX-License-Identifier: GPL-2.0-or-later
# The guest is about to hibernate, and waits for the detach.
hvtrace attach fake
hvtrace cat fake trace_pipe &
is_read
hvtrace echo fake control hibernate 2>/dev/null # the session may end first
wait $!
echo "cat: $?"
no_service
hvtrace stat fake
echo $?
hvtrace attach fake
hvtrace detach fake
