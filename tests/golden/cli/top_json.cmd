# SPDX-License-Identifier: GPL-2.0-or-later
# Costs depend on the length of the interval, and so on the machine.
plain() {
	sed -E 's/"(at_ms|interval_s|cost_percent)":[0-9.]+/"\1":N/g'
}
hvtrace top -d 100ms --json -n 2 fake | plain
# A process whose thread has the name of a vCPU's.
sh -c 'echo CPU 0/KVM >/proc/$$/comm; while :; do read -r line </proc/uptime; done' &
vmm=$!
until [ "$(cat /proc/$vmm/comm)" = 'CPU 0/KVM' ]; do sleep 0.05; done
FAKE_VMM=$vmm hvtrace attach fake
hvtrace top -d 100ms --json -n 1 fake | plain | sed -E 's/"(vcpu|steal)_percent":[0-9.]+/"\1_percent":N/g'
hvtrace detach fake
kill $vmm
