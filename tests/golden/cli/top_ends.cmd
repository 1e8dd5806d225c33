# SPDX-License-Identifier: GPL-2.0-or-later
# One domain ends, top continues with the other; then that one ends, too.
hvtrace attach fake
hvtrace attach other
hvtrace top -d 100ms -l vfs_read other fake >$RUN.out 2>$RUN.err &
top=$!
has_line $RUN.out 'other .*' && has_line $RUN.out 'fake .*'
hvtrace echo other control off 2>/dev/null
has_line $RUN.out 'other  *ended: .*'
grep '^other  *ended' $RUN.out | sort -u
: >$RUN.out
has_line $RUN.out 'fake  *vfs_read .*'
hvtrace echo fake control off 2>/dev/null
wait $top
echo "top: $?"
cat $RUN.err
rm $RUN.out $RUN.err
# A session that is detached, a service that dies.
hvtrace attach fake
hvtrace top -d 100ms fake >$RUN.out 2>$RUN.err &
top=$!
has_line $RUN.out 'fake .*'
hvtrace detach fake
wait $top
echo "top: $?"
cat $RUN.err
# A signal ends top and the session that it began. Removes earlier output, which would look like this one's.
for signal in INT TERM HUP QUIT KILL; do
	rm $RUN.out
	env --default-signal=INT,QUIT hvtrace top -d 100ms fake >$RUN.out 2>$RUN.err &
	top=$!
	has_line $RUN.out 'fake .*'
	kill -$signal $top
	wait $top 2>/dev/null
	echo "$signal: $?"
	no_service
done
rm $RUN.out
hvtrace attach fake
hvtrace top -d 100ms fake >$RUN.out &
top=$!
has_line $RUN.out 'fake .*'
kill -KILL $top
wait $top 2>/dev/null
until [ -z "$(hvtrace ls fake instances)" ]; do sleep 0.05; done
hvtrace detach fake
rm $RUN.out $RUN.err
