hvtrace attach fake
hvtrace cat fake trace_pipe >$RUN.lines &
clients 1
hvtrace echo fake control emit 200000
until [ "$(tail -n 1 $RUN.lines)" = "line 199999" ]; do sleep 0.1; done
hvtrace detach fake
wait
seq -f 'line %.0f' 0 199999 | cmp - $RUN.lines
