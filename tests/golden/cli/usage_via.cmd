hvtrace attach --via telepathy web1
