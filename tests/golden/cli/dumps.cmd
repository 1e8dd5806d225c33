# SPDX-License-Identifier: GPL-2.0-or-later
dumped() {
	until hvtrace stat fake | grep "^dumps  *$1,"; do sleep 0.05; done
}
shown() {
	sed 's/^# [0-9T:.-]*Z /# TIME /' $RUN/*/dump
}
hvtrace attach fake
hvtrace stat fake | grep dumps
hvtrace echo fake control 'dump 2'
dumped 2
shown
sed -n 's/.*Z dump/dump/p' $RUN/*/log
# a detach writes what waits; the file is there for who looks later
rm $RUN/*/dump
hvtrace echo fake control 'dump 300'
hvtrace detach fake
ls $RUN/*
grep -c '^#' $RUN/*/dump
rm $RUN/*/dump
hvtrace list
# and goes on, whoever ends the session
hvtrace attach fake
hvtrace echo fake control 'dump 1'
hvtrace echo fake control off 2>/dev/null
no_service
shown
# one that cannot be written is told, and no other is held up
hvtrace attach fake
rm $RUN/*/dump
mkdir "$(dirname $RUN/*/log)/dump"
hvtrace echo fake control 'dump 1'
until grep -q ' 0 bytes' $RUN/*/log; do sleep 0.05; done
rmdir $RUN/*/dump
hvtrace echo fake control 'dump 1'
dumped 1
sed -n 's/.*Z dump/dump/p' $RUN/*/log
# a long one is cut, and stays when the next is written; a file that is long starts anew
rm $RUN/*/dump
hvtrace echo fake control flood
dumped 2
tail -c 100 $RUN/*/dump | tr -d x
ls -l $RUN/*/dump | cut -d ' ' -f 5
tail -n 2 $RUN/*/log | sed 's/.*Z dump/dump/'
hvtrace echo fake control flood
dumped 3
ls -l $RUN/*/dump | cut -d ' ' -f 5
hvtrace echo fake control 'dump 1'
dumped 4
shown
hvtrace detach fake
rm -r "$(dirname $RUN/*/dump)"
