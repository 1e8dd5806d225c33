# SPDX-License-Identifier: GPL-2.0-or-later
# --runqueue: tracing that costs too much, the end of a session, and a session that ends as idle although
# it is watched. The exporter creates and removes its instance.
page() {
	python3 - "$RUN.sock" <<'PY'
import http.client, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request("GET", "/metrics")
print(connection.getresponse().read().decode(), end="")
PY
}
measured() {
	until page 2>/dev/null | grep -q "^hvtrace_runqueue_measured{.*} $1"; do sleep 0.05; done
}
hvtrace exporter --listen=unix:$RUN.sock --runqueue --max-overhead=nothing
hvtrace exporter --listen=unix:$RUN.sock --runqueue --max-overhead=1.5 2>$RUN.said &
exporter=$!
hvtrace attach fake
measured 1
page | grep runqueue
dir=instances/$(hvtrace ls fake instances | tr -d /)
echo "$dir" | sed "s/$exporter/PID/"
for f in set_event tracing_on; do hvtrace cat fake $dir/$f; done
hvtrace echo fake control load 30000
measured 0
page | grep -e runqueue_measured -e overhead
no_record
until grep "not measured" $RUN.said; do sleep 0.05; done
hvtrace detach fake
page | grep -v '^#'
# With a client. If this machine pauses for so long that the session ends as idle, try again.
while :; do
	hvtrace attach --idle=3s fake >$RUN.attached
	hvtrace cat fake trace_pipe >/dev/null 2>&1 &
	user=$!
	until said=$(hvtrace echo fake current_tracer nop 2>&1); echo "$said" | grep -q -e busy -e 'not attached'; do sleep 0.05; done
	case $said in *busy*) break ;; esac
done
cat $RUN.attached
measured 1
kill $user
no_service
kill $exporter
wait $exporter
# An event that is needed cannot be recorded.
hvtrace attach fake
hvtrace echo fake control omit
hvtrace exporter --listen=unix:$RUN.sock --runqueue 2>$RUN.said &
exporter=$!
until grep "not measured" $RUN.said; do sleep 0.05; done
kill $exporter
wait $exporter
hvtrace detach fake
