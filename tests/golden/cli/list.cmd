hvtrace list
hvtrace attach fake
hvtrace list
hvtrace detach fake
