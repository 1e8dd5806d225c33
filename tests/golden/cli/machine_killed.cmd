# SPDX-License-Identifier: GPL-2.0-or-later
# What a machine of `hvtrace run` leaves that was killed: PID's are one and the same.
left() {
	mkdir -p $RUN/$1
	echo "{\"id\": \"$1\", \"name\": \"$1\", \"spec\": \"$1\", \"vmm_pid\": $2, \"service_pid\": 77}" >$RUN/$1/info
	touch $RUN/$1/lock $RUN/$1/sock $RUN/$1/log
}
left m1 77
hvtrace recover m1
echo $?
ls $RUN
left m2 77
left other 78
hvtrace run --kernel k
ls $RUN
rm -r $RUN/other
