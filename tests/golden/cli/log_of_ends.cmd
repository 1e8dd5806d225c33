# SPDX-License-Identifier: GPL-2.0-or-later
# The log of a session names the reason for its end. The session fails to detach several times, so that
# the log can be read.
logged() {
	until sed -n "s/^[^ ]* //; /$1/p" $RUN/*/log 2>/dev/null | grep -m 1 .; do sleep 0.02; done
	no_service
}
# On a loaded machine, the session can end before it is busy.
attach_busy() {
	until hvtrace attach "$1" fake >/dev/null && hvtrace echo fake control busy 4 2>/dev/null; do no_service; done
}
hvtrace attach fake >/dev/null
hvtrace echo fake control busy 4
hvtrace echo fake control sleep 2>/dev/null
logged 'detaching'
hvtrace attach fake >/dev/null
hvtrace echo fake control busy 4
hvtrace echo fake control hibernate 2>/dev/null
logged 'detaching'
hvtrace attach fake >/dev/null
hvtrace echo fake control busy 4
kill $(cat $RUN/*/pid)
logged 'signal'
attach_busy --for=2s
logged 'detaching'
attach_busy --idle=2s
logged 'detaching'
hvtrace attach fake >/dev/null
hvtrace echo fake control busy 4
hvtrace echo fake control lose 2>/dev/null
logged 'detaching'
hvtrace record -p function fake --for 60 >/dev/null 2>&1 &
until hvtrace echo fake control busy 4 2>/dev/null; do sleep 0.05; done
kill -9 $!
wait $! 2>/dev/null
logged 'has gone'
