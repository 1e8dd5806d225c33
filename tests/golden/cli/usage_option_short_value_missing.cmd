hvtrace record -p
