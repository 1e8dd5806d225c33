# SPDX-License-Identifier: GPL-2.0-or-later
# A quiet guest; then a section with interrupts off, for people and for programs; and the settings of
# the instance. The VMM of fake_layers.c has no vCPU threads, so no side is blamed.
plain() {
	sed -E 's/measured [0-9.]+ s/measured T s/; s/"(measured|at)_ns":[0-9]+/"\1_ns":T/'
}
told() {
	rm -f $RUN.said # from an earlier call
	hvtrace latency fake --watch "$@" >$RUN.told 2>$RUN.said &
	has_line $RUN.said "hvtrace: waiting for a stall"
	hvtrace echo fake control section 20016
	wait $!
	plain <$RUN.told
}
hvtrace attach fake
hvtrace latency --for=100ms fake | plain
hvtrace latency fake --for=100ms --json --threshold 1s | plain
told
told --json
rm $RUN.said
hvtrace latency fake --for=1h >/dev/null 2>$RUN.said &
has_line $RUN.said "hvtrace: measuring"
dir=instances/latency-$!
for f in current_tracer set_event tracing_max_latency tracing_on; do hvtrace cat fake $dir/$f; done
hvtrace cat fake kprobe_events
kill $!
wait $!
hvtrace cat fake kprobe_events
hvtrace ls fake instances
hvtrace latency fake --for=100ms -l nosuch >/dev/null
hvtrace echo fake control calls
hvtrace echo fake control 'raw 8'
hvtrace latency fake --for=1s -l 'vfs_*' -l 'ksys_*' | plain
hvtrace latency fake --for=1s -l 'vfs_*' --json | plain
hvtrace echo fake control steal
hvtrace latency fake --for=100ms -l 'vfs_*' | plain
hvtrace latency fake --for=100ms -l 'vfs_*' --json | plain
hvtrace echo fake control switches
hvtrace latency fake --for=100ms -l 'vfs_*' | grep -E 'vfs_read|of a call'
hvtrace echo fake control load 4000000
hvtrace latency fake --for=100ms -l vfs_read | grep 'from then on'
hvtrace latency fake --for=2500ms --symfs=/nosuch | grep 'from then on'
hvtrace ls fake instances
for words in --threshold=1us --threshold=x --for=0 --max-overhead=200 more; do
	hvtrace latency $words fake
done
hvtrace detach fake
hvtrace attach fake --max-overhead=2
hvtrace echo fake control load 400000
until hvtrace stat fake 2>&1 | grep -q '^not traced'; do sleep 0.05; done
hvtrace latency fake --for=100ms -l vfs_read | grep 'put back'
hvtrace detach fake
