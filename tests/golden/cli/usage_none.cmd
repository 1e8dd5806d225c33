hvtrace
