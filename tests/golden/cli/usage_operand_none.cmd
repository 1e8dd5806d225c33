hvtrace detach
