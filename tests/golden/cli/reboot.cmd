hvtrace attach fake
hvtrace cat fake trace_pipe &
clients 1
hvtrace echo fake control reboot
wait $!
echo "cat: $?"
no_service
hvtrace stat fake
echo $?
hvtrace attach fake
hvtrace detach fake
