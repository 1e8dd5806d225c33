hvtrace record -p function --for fortnight web1
