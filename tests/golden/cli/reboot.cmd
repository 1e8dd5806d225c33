hvtrace attach fake
hvtrace cat fake trace_pipe &
is_read
hvtrace echo fake control reboot
wait $!
echo "cat: $?"
no_service
hvtrace stat fake
echo $?
hvtrace attach fake
hvtrace detach fake
