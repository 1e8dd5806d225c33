hvtrace attach fake
hvtrace cat fake trace_pipe &
reader=$!
clients 1
kill -9 $reader
wait $reader 2>/dev/null
hvtrace echo fake control emit 1
timeout -s INT 1 hvtrace cat fake trace_pipe
echo $?
hvtrace detach fake
