hvtrace --frob list
