hvtrace cat web1
