# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
for signal in INT TERM USR1 ALRM KILL; do
	hvtrace record -p function -l 'vfs_*' fake 2>$RUN.err &
	records $! function
	kill -$signal $!
	wait $! 2>/dev/null
	echo "$signal: $?"
	no_record
	hvtrace stat fake | grep sites
done
hvtrace detach fake
