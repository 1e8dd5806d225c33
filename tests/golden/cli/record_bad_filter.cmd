hvtrace record -p function -l nosuch fake --for 1
