# SPDX-License-Identifier: GPL-2.0-or-later
# The settings of the instance; nothing is sampled in the fake guest; options that are wrong.
hvtrace attach fake
hvtrace profile fake --for=1h >/dev/null 2>$RUN.said &
dir=instances/profile-$!
until hvtrace cat fake $dir/tracing_on 2>/dev/null | grep -q 1 || ! kill -0 $!; do sleep 0.05; done
for f in kprobe_events $dir/current_tracer $dir/set_event $dir/set_ftrace_filter; do hvtrace cat fake $f; done
kill $!
wait $!
hvtrace ls fake instances
hvtrace profile fake --for=100ms --symfs=/nosuch | sed -E 's/profiled [0-9.]+ s/profiled T s/'
for suffix in svg folded jsonl perf; do
	hvtrace profile fake --for=10ms -o $RUN.$suffix | sed -E 's/profiled [0-9.]+ s/profiled T s/'
	wc -l <$RUN.$suffix
	rm $RUN.$suffix
done
hvtrace profile fake --for=10ms -o $RUN.pb.gz >/dev/null
gzip -dc $RUN.pb.gz | grep -aoE 'samples|count|\[kernel[^]]*\]'
rm $RUN.pb.gz
hvtrace profile fake --for=10ms -o $RUN.pftrace >/dev/null
wc -c <$RUN.pftrace
rm $RUN.pftrace
hvtrace profile fake --user-stack=dwarf --for=1h >/dev/null 2>$RUN.said &
dir=instances/profile-$!
until hvtrace cat fake $dir/tracing_on 2>/dev/null | grep -q 1 || ! kill -0 $!; do sleep 0.05; done
for f in kprobe_events $dir/set_event; do hvtrace cat fake $f; done
kill $!
wait $!
hvtrace cat fake kprobe_events
hvtrace profile fake --user-stack=fp --for=10ms | sed -E 's/profiled [0-9.]+ s/profiled T s/'
hvtrace profile fake --off-cpu --wakeups --on-cpu --for=1h >/dev/null 2>$RUN.said &
dir=instances/profile-$!
until hvtrace cat fake $dir/tracing_on 2>/dev/null | grep -q 1 || ! kill -0 $!; do sleep 0.05; done
for f in kprobe_events $dir/current_tracer $dir/set_event; do hvtrace cat fake $f; done
kill $!
wait $!
hvtrace cat fake kprobe_events
for words in --off-cpu --wakeups '--off-cpu --on-cpu'; do
	hvtrace profile fake --for=10ms $words | sed -E 's/profiled [0-9.]+ s/profiled T s/'
done
for words in '--off-cpu --rate=1' '--wakeups -o x.perf' '--off-cpu --user-stack=dwarf' --user-stack=orc --rate=2 --rate=1/0 --rate=1/2000 --per=x --min=0 --for=0 --max-overhead=200 '-o x' '-o /nosuch/x.svg' more; do
	hvtrace profile $words fake
done
hvtrace detach fake
