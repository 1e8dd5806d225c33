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
# detach writes pending dumps; the file stays
rm $RUN/*/dump
hvtrace echo fake control 'dump 300'
hvtrace detach fake
ls $RUN/*
grep -c '^#' $RUN/*/dump
rm $RUN/*/dump
hvtrace list
# a pending dump is also written if the guest ends
hvtrace attach fake
hvtrace echo fake control 'dump 1'
hvtrace echo fake control off 2>/dev/null
no_service
shown
# a dump that cannot be written is logged, and does not delay others
hvtrace attach fake
rm $RUN/*/dump
mkdir "$(dirname $RUN/*/log)/dump"
hvtrace echo fake control 'dump 1'
until grep -q ' 0 bytes' $RUN/*/log; do sleep 0.05; done
rmdir $RUN/*/dump
hvtrace echo fake control 'dump 1'
dumped 1
sed -n 's/.*Z dump/dump/p' $RUN/*/log
# a long dump is cut, and stays until the next one; a long file is emptied
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
