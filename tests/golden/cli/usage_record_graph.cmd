hvtrace record -p function -g vfs_read fake --for 1
