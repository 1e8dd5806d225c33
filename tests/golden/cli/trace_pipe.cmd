# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace cat fake trace_pipe >$RUN.lines &
is_read
hvtrace cat fake trace_pipe
echo $?
hvtrace echo fake control emit 3
has_line $RUN.lines "line 2"
hvtrace detach fake
wait $!
echo "cat: $?"
cat $RUN.lines
