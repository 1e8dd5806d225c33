hvtrace --help
