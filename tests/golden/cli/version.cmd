hvtrace --version | sed 's/ [0-9.]* (commit [^ ]*)/ X (commit N)/'
