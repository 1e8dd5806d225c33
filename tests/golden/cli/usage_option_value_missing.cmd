hvtrace attach --vmlinux
