hvtrace attach fake
hvtrace echo fake current_tracer function
hvtrace record -p function fake --for 1
echo $?
hvtrace cat fake current_tracer
hvtrace detach fake
