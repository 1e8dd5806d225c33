hvtrace record -p function fake --for 1m &
tracer_is function
kill -9 $!
wait $! 2>/dev/null
no_service
ls $RUN
