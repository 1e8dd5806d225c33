# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace stat fake | sed '/^\(service\|holds\|process\)/d'
hvtrace echo fake control refuse 3
hvtrace stat fake | grep refused
hvtrace echo fake control refuse 7
hvtrace stat --json fake | grep -A1 held_modules
hvtrace echo fake control hold
hvtrace stat fake | grep modules
hvtrace stat --json fake | grep -A3 held_modules
hvtrace cat fake trace_pipe >$RUN.lines &
is_read
hvtrace stat fake | grep -E '^(refused|reader)'
hvtrace cat fake trace_pipe
hvtrace echo fake current_tracer nop
hvtrace detach fake
wait $!
