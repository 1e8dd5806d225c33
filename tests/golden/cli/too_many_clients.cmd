hvtrace attach fake
python3 -c "
import socket, sys
clients = [socket.socket(socket.AF_UNIX) for _ in range(64)]
for client in clients:
    client.connect(sys.argv[1])
clients[0].recv(1)" $RUN/*/sock &
while hvtrace stat fake >/dev/null 2>&1; do sleep 0.05; done
hvtrace cat fake current_tracer
echo $?
hvtrace stat fake
hvtrace detach fake
wait
