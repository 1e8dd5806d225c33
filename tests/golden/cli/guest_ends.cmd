# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace cat fake trace_pipe &
is_read
hvtrace echo fake control off 2>/dev/null
wait $!
echo "cat: $?"
no_service
ls $RUN
