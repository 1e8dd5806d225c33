# SPDX-License-Identifier: GPL-2.0-or-later
# Waits without a time limit; run.sh's limit ends them.

# Until a process has trace_pipe of "fake" open.
is_read() {
	until hvtrace echo fake current_tracer nop 2>&1 | grep -q busy; do sleep 0.05; done
}

# Until FILE has LINE.
has_line() {
	until grep -qsx "$2" "$1"; do sleep 0.05; done
}

# Until the recording of process PID has its tracer.
records() {
	until [ "$(hvtrace cat fake "instances/record-$1/current_tracer" 2>/dev/null)" = "$2" ]; do sleep 0.05; done
}

# Until nothing records.
no_record() {
	until [ -z "$(hvtrace ls fake instances)" ]; do sleep 0.05; done
}

# Until no service is left.
no_service() {
	until [ -z "$(ls $RUN/*/sock 2>/dev/null)" ]; do sleep 0.05; done
}
