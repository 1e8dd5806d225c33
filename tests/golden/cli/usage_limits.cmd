# SPDX-License-Identifier: GPL-2.0-or-later
# Values that are wrong, too many, or do not fit together.
many() {
	i=0
	while [ $i -lt $1 ]; do echo "$2"; i=$((i + 1)); done
}
hvtrace collect --max-size=lots /tmp; echo $?
hvtrace collect --max-total=0 /tmp; echo $?
hvtrace collect --max-memory=1T2 /tmp; echo $?
hvtrace collect --max-rate=fast /tmp; echo $?
hvtrace collect --key=/dev/null /tmp; echo $?
hvtrace collect $(many 65 --allow=::1) /tmp; echo $?
hvtrace collect $(many 17 --dev=lo) /tmp; echo $?
hvtrace exporter --listen=127.0.0.1:9911 $(many 65 --function=vfs_read); echo $?
hvtrace hist fake sched:sched_nothing --for 1; echo $?
hvtrace record -p function --date fake --for 1; echo $?
hvtrace stream -p function --to=::1 --dev=lo --tcp fake --for 1; echo $?
