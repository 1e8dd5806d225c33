# SPDX-License-Identifier: GPL-2.0-or-later
# Addresses that cannot be used; then a page, with and without sessions.
for where in nowhere 127.0.0.1 127.0.0.1:no :80 localhost:80 unix: unix:/absent/s; do
	hvtrace exporter --listen=$where
done
hvtrace exporter
hvtrace exporter --listen=127.0.0.1:1 web1
touch $RUN.file
hvtrace exporter --listen=unix:$RUN.file
[ -e $RUN.file ] && echo 'the file is there'
get() {
	python3 - "$RUN.sock" "$1" <<'PY'
import http.client, re, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request(*sys.argv[2].split())
answer = connection.getresponse()
print(answer.status, answer.getheader("Content-Type"))
print(re.sub(r"(attached_seconds.*}) .*", r"\1 AGE", answer.read().decode()), end="")
PY
}
hvtrace exporter --listen=unix:$RUN.sock --function=vfs_read --function='a"b\' &
exporter=$!
until get 'GET /metrics' >$RUN.page 2>/dev/null; do sleep 0.05; done
cat $RUN.page
hvtrace attach fake
hvtrace echo fake function_profile_enabled 1
get 'GET /metrics'
service=$(cat $RUN/*/pid)
kill -STOP $service
get 'GET /metrics' | grep -v '^#'
kill -CONT $service
get 'GET /'
get 'POST /metrics'
hvtrace exporter --listen=unix:$RUN.sock
kill $exporter
wait $exporter
[ ! -e $RUN.sock ] && echo 'the socket is gone'
hvtrace detach fake
