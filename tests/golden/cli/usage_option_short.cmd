hvtrace stat -x web1
