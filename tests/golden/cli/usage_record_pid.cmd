hvtrace record -p function -P init --for 1 web1
