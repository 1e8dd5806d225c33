hvtrace attach fake
hvtrace echo fake control emit 100000
hvtrace record -p function fake --for 1m | head -1
hvtrace cat fake current_tracer
hvtrace detach fake
