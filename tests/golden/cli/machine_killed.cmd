# SPDX-License-Identifier: GPL-2.0-or-later
# Remains of a machine of `hvtrace run` that was killed with its session: its name is its id. No
# process has such a large pid.
left() {
	mkdir -p $RUN/$1
	echo "{\"id\": \"$1\", \"name\": \"$3\", \"spec\": \"$1\", \"vmm_pid\": $2, \"service_pid\": 4194401}" >$RUN/$1/info
	touch $RUN/$1/lock $RUN/$1/sock $RUN/$1/log
}
left m1 4194402 m1
hvtrace recover m1
echo $?
ls $RUN
left m2 4194402 m2
left other 4194402 a-guest
hvtrace run --kernel k
ls $RUN
rm -r $RUN/other
