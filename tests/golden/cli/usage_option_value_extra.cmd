hvtrace stat --json=yes web1
