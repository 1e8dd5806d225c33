# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace cat fake trace_pipe >$RUN.lines &
is_read
hvtrace echo fake control emit 200000
has_line $RUN.lines "line 199999"
hvtrace detach fake
wait
seq -f 'line %.0f' 0 199999 | cmp - $RUN.lines
