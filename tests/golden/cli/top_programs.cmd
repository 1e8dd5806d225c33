# SPDX-License-Identifier: GPL-2.0-or-later
# top --programs: the settings of its instance, and that it stops if tracing takes too much time.
hvtrace attach fake
hvtrace top -d 100ms fake --programs >$RUN.out &
top=$!
has_line $RUN.out 'fake .*'
dir=instances/top-programs-$top-1
for f in set_event tracing_on; do hvtrace cat fake $dir/$f; done
hvtrace cat fake kprobe_events
hvtrace echo fake control load 30000
has_line $RUN.out ' *no programs: .*'
hvtrace cat fake kprobe_events
kill $top
wait $top 2>/dev/null
grep 'no programs' $RUN.out | head -1
rm $RUN.out
hvtrace ls fake instances
hvtrace detach fake
