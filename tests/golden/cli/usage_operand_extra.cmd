hvtrace attach web1 web2
