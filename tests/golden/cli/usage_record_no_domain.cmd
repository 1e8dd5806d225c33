hvtrace record -p function --for 1
