# SPDX-License-Identifier: GPL-2.0-or-later
# A session that is being detached: other commands are refused, and its log has the reason.
hvtrace attach fake
hvtrace echo fake control busy 5
hvtrace detach fake 2>/dev/null &
until grep -qs 'detach waits' $RUN/*/log; do sleep 0.05; done
hvtrace cat fake trace
wait $!
