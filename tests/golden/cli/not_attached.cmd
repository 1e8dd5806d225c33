hvtrace cat fake trace
echo $?
hvtrace cat nosuch trace
