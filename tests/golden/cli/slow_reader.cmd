# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
mkfifo $RUN.fifo
hvtrace cat fake trace_pipe >$RUN.fifo &
exec 3<$RUN.fifo
is_read
hvtrace echo fake control emit 200000
sleep 0.2
hvtrace cat fake tracing_on
hvtrace detach fake
exec 3<&-
wait
