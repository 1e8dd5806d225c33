hvtrace traec web1
