# SPDX-License-Identifier: GPL-2.0-or-later
# System calls that hardly ever fail: processes, pipes and sockets that cannot be made.
no_process() {
	ASAN_OPTIONS=detect_leaks=0 failing clone EAGAIN "$@" # LeakSanitizer starts one
}
printf '\n\n' >$RUN.perfetto
failing socketpair EMFILE hvtrace attach fake; echo $?
no_process hvtrace attach fake; echo $?
failing socketpair EMFILE hvtrace check fake; echo $?
no_process hvtrace check fake; echo $?
hvtrace attach fake >/dev/null
failing pipe2 EMFILE hvtrace record -p function fake -- true; echo $?
no_process hvtrace record -p function fake -- true; echo $?
failing socketpair EMFILE hvtrace record -p function fake --for 1; echo $?
no_process hvtrace record -p function fake --for 1; echo $?
hvtrace detach fake >/dev/null
failing pipe2 EMFILE hvtrace report $RUN.perfetto; echo $?
no_process hvtrace report $RUN.perfetto; echo $?
failing signalfd4 EMFILE hvtrace exporter --listen=unix:$RUN.sock; echo $?
failing signalfd4 EMFILE hvtrace collect $RUN.d; echo $?
failing pipe2 EMFILE hvtrace exporter --runqueue --listen=unix:$RUN.sock; echo $?
