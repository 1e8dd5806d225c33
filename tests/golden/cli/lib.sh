# Waits that do not depend on how fast the machine is; run.sh's time limit ends them.

# Until N other clients are connected to the service of "fake".
clients() {
	until hvtrace stat --json fake | grep -q "\"clients\": $1,\\?\$"; do sleep 0.05; done
}

# Until the tracer of "fake" is set.
tracer_is() {
	until [ "$(hvtrace cat fake current_tracer 2>/dev/null)" = "$1" ]; do sleep 0.05; done
}

# Until no service is left.
no_service() {
	until [ -z "$(ls $RUN/*/sock 2>/dev/null)" ]; do sleep 0.05; done
}
