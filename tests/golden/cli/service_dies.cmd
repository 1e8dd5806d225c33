# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
kill -9 $(cat $RUN/*/pid)
until hvtrace stat fake 2>&1 | grep -q recover; do sleep 0.05; done
hvtrace stat fake
echo $?
hvtrace recover fake
hvtrace stat fake
