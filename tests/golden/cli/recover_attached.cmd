hvtrace attach fake
hvtrace recover fake
echo $?
hvtrace detach fake
