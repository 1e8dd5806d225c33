hvtrace record web1 -p function --for 1 -- true
