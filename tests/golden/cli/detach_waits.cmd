hvtrace attach fake
hvtrace echo fake control busy 2
hvtrace detach fake
