# SPDX-License-Identifier: GPL-2.0-or-later
# A session that traces nothing, and whose region survives the guest's sleep, wakes up every five seconds.
hvtrace attach other >/dev/null
sleep 2
wakes() {
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$pid/status"
}
pid=$(hvtrace stat --json other | sed -n 's/.*"service_pid": *\([0-9]*\).*/\1/p')
sleep 1
before=$(wakes)
sleep 2
echo $(($(wakes) - before <= 3 ? 1 : 0))
hvtrace detach other >/dev/null
