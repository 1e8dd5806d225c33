hvtrace record -p function fake -- sh -c 'exit 3'
echo $?
hvtrace record -p function fake -- ./nosuch
echo $?
hvtrace record -p function fake -- sh -c 'kill -9 $$'
