hvtrace record -p function --for 1 web1 web2
