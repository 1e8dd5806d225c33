# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
for name in fake 7 1f0a4a3e-0000-4000-8000-000000000001 pid:1; do
	hvtrace cat $name tracing_on
done
hvtrace detach 7
