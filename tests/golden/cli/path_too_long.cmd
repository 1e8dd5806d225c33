# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace cat fake "$(head -c 5000 /dev/zero | tr '\0' x)" 2>&1 | sed 's/x\{9,\}/PATH/'
hvtrace detach fake >/dev/null
