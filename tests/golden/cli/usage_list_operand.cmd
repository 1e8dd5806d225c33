hvtrace list web1
