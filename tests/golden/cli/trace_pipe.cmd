hvtrace attach fake
hvtrace cat fake trace_pipe &
clients 1
hvtrace cat fake trace_pipe
echo $?
hvtrace echo fake control emit 3
sleep 0.5
hvtrace detach fake
wait $!
echo "cat: $?"
