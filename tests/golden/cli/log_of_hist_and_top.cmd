# SPDX-License-Identifier: GPL-2.0-or-later
# Lines in the audit log of verbs that trace for a while.
hvtrace attach fake
hvtrace hist fake vfs_read --for=100ms
hvtrace hist fake sched:sched_waking --for=100ms
hvtrace top -n 1 fake -l vfs_read >/dev/null
grep -Eo ' (change|attach) .*' $RUN/*/log | grep -e attach -e current_tracer -e set_event -e function_profile -e '[0-9]"' |
	sed -E 's/id=[^ ]* //; s/uid=.* pid=[0-9]+/WHO/; s/-[0-9]+(-1)?"/-N"/; s/-[0-9]+(-1)?\//-N\//; s/ [a-z]*_us=[0-9]+//g'
hvtrace detach fake
