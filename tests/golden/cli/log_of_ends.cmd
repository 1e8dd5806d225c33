# SPDX-License-Identifier: GPL-2.0-or-later
# The log of a session names the reason for its end. The session removes its log at its end, so a reader
# keeps it open. The session fails to detach several times, so that a later reason would be logged, too.
follow() {
	tail -n +1 -f $RUN/*/log >$RUN.told 2>/dev/null &
	reader=$!
}
logged() {
	until sed -n "s/^[^ ]* //; /$1/p" $RUN.told | grep -m 1 .; do sleep 0.02; done
	no_service
	kill $reader
	wait $reader 2>/dev/null || :
}
# On a loaded machine, the session can end before it is busy.
attach_busy() {
	until hvtrace attach "$@" fake >/dev/null && follow && hvtrace echo fake control busy 4 2>/dev/null; do
		no_service
		kill $reader 2>/dev/null
	done
}
attach_busy
hvtrace echo fake control sleep 2>/dev/null
logged 'detaching'
attach_busy
hvtrace echo fake control hibernate 2>/dev/null
logged 'detaching'
attach_busy
kill $(cat $RUN/*/pid)
logged 'signal'
attach_busy --for=2s
logged 'detaching'
attach_busy --idle=2s
logged 'detaching'
attach_busy
hvtrace echo fake control lose 2>/dev/null
logged 'detaching'
hvtrace record -p function fake --for 60 >/dev/null 2>&1 &
owner=$!
until hvtrace echo fake control busy 4 2>/dev/null; do sleep 0.05; done
follow
kill -9 $owner
wait $owner 2>/dev/null
logged 'has gone'
