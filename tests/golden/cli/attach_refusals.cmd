hvtrace attach nosuch
hvtrace attach --via inject fake
hvtrace attach --vmlinux vmlinux fake
