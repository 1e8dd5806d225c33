hvtrace -c
