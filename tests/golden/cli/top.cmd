# SPDX-License-Identifier: GPL-2.0-or-later
# Without a session; with one, whose settings stay; with a filter; with its own profile.
alias top='hvtrace top -d 100ms'
top -n 2 fake
ls $RUN
hvtrace attach fake
hvtrace echo fake control events 7
# The rate depends on the time between samples.
top -n 1 fake | awk '/^fake +[0-9]/ && $2 > 0 { sub(/ +[0-9.]+/, " some") } 1'
hvtrace echo fake control events 0
top -n 1 --sort=hits -l 'vfs_read,bad*' -l vfs_write fake
hvtrace echo fake set_ftrace_filter vfs_read
top fake -n 1 --sort average --reverse
top fake -n 1 --rows=1 -l vfs_read -l vfs_write
echo '# settings'
hvtrace cat fake set_ftrace_filter
hvtrace cat fake function_profile_enabled
hvtrace ls fake instances
hvtrace echo fake control load 50000
top fake >$RUN.out &
until hvtrace cat fake control | grep -q looks; do sleep 0.05; done
has_line $RUN.out 'fake  *vfs_read .*'
kill $!
wait $! 2>/dev/null
head -5 $RUN.out
rm $RUN.out
hvtrace stat fake | grep -e overhead -e '^not traced'
hvtrace echo fake control load 0
echo '# its own profile'
hvtrace echo fake set_ftrace_filter
hvtrace echo fake function_profile_enabled 1
top -n 1 fake
hvtrace echo fake control grow
top -n 1 fake
echo '# the run queue'
top -n 1 --runqueue fake
top fake --runqueue >$RUN.out &
top=$!
has_line $RUN.out 'fake .*'
dir=instances/top-waits-$top-1
for f in set_event tracing_on; do hvtrace cat fake $dir/$f; done
hvtrace echo fake control load 30000
has_line $RUN.out ' *no run queue: .*'
hvtrace ls fake instances
kill $top
wait $top 2>/dev/null
grep 'no run queue' $RUN.out | head -1
rm $RUN.out
hvtrace echo fake control load 0
hvtrace echo fake control omit
top -n 1 --runqueue fake
echo '# two'
hvtrace attach other
top -n 1 other --sort=domain fake
top -n 1 fake fake -l vfs_read
echo '# mistakes'
top
for option in -d0 -dx --delay=99ms -n0 -n1x --iterations= --sort=size --rows=0 --rows=100001 --sorts=hits -x; do
	top fake $option
done
top fake nosuch
top -n 1 fake -l nosuch_function,nosuch
hvtrace ls fake instances
echo '# no profile'
hvtrace echo fake function_profile_enabled 0
hvtrace echo fake control stacks
top -n 1 fake
top -n 1 fake -l vfs_read
hvtrace ls fake instances
hvtrace detach fake
hvtrace detach other
# It ends when its output is closed.
top fake 2>$RUN.err | head -1
has_line $RUN.err "hvtrace: domain 'fake': attached.*"
no_service
rm -f $RUN.err
