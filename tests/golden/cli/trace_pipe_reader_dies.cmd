# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace cat fake trace_pipe &
reader=$!
is_read
kill -9 $reader
wait $reader 2>/dev/null
hvtrace echo fake control emit 1
hvtrace cat fake trace_pipe >$RUN.lines &
has_line $RUN.lines "line 0"
kill $!
wait $! 2>/dev/null
echo $?
hvtrace detach fake
