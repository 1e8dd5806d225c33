# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace echo fake control emit 100000
hvtrace record -p function fake --for 1m >/dev/full
echo record: $?
hvtrace cat fake current_tracer
for verb in 'cat fake tracing_on' 'ls fake' 'stat fake' --help help 'list --help' list 'list --json' \
	'check fake' 'check --json fake' 'check --json nosuch' 'detach fake'; do
	hvtrace $verb >/dev/full
	echo $verb: $?
done
