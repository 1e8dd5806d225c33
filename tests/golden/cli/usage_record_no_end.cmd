hvtrace record web1 -p function
