hvtrace attach fake
hvtrace run --kernel k --name fake
echo $?
hvtrace detach fake
hvtrace run --kernel k --name fake
echo $?
