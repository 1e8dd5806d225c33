hvtrace attach --frob=1 web1
