hvtrace check --json fake
hvtrace check --json nosuch
