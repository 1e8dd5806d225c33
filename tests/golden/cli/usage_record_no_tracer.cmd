hvtrace record web1 --for 1
