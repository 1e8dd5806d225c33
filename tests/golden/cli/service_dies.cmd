# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
# Its broker restores everything.
kill -9 $(cat $RUN/*/pid)
hvtrace recover fake 2>/dev/null # it waits for the broker
hvtrace attach fake
# If both die, the user must run recover.
kill -9 $(pgrep -P $(cat $RUN/*/pid)) $(cat $RUN/*/pid)
until hvtrace stat fake 2>&1 | grep -q recover; do sleep 0.05; done
hvtrace stat fake
echo $?
hvtrace recover fake
hvtrace stat fake
# Only the broker is killed: its clients get the reason.
hvtrace attach fake
hvtrace cat fake trace_pipe 2>&1 &
is_read
kill -9 $(pgrep -P $(cat $RUN/*/pid))
wait $!
echo $?
until hvtrace stat fake 2>&1 | grep -q recover; do sleep 0.05; done
hvtrace recover fake
