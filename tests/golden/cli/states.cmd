# SPDX-License-Identifier: GPL-2.0-or-later
# Every verb reports the changes that a session left in a guest, until recover undoes them.
all_verbs() {
	hvtrace list | sed -n "s/^fake  *//p"
	hvtrace check $1 | grep -E '^(attached|state|guest_ftrace|PREVENTS|traceable)'
	for verb in "attach $1" "stat $1" "cat $1 trace" "detach $1" "record -p function --for=1 $1"; do
		hvtrace $verb
	done
}
exec 2>&1
echo "-- left"
all_verbs left
hvtrace recover left
ls $RUN
echo "-- the service is killed"
sleep 1000 &
export FAKE_VMM=$!
hvtrace attach fake
kill -9 $(pgrep -P $(cat $RUN/*/pid)) $(cat $RUN/*/pid)
until hvtrace stat fake 2>&1 | grep -q recover; do sleep 0.05; done
hvtrace list | sed -n "s/^fake  *//p"
hvtrace stat fake
echo "-- and its VMM"
kill -9 $FAKE_VMM
wait $FAKE_VMM 2>/dev/null
hvtrace list | sed -n "s/^fake  *//p"
hvtrace stat fake
hvtrace recover fake
hvtrace stat fake
