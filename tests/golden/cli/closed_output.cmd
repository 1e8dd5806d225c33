# SPDX-License-Identifier: GPL-2.0-or-later
# Output for a file that the caller has closed goes to no other file.
hvtrace attach fake
hvtrace cat fake current_tracer >&-
echo $?
hvtrace --version >&-
echo $?
hvtrace cat fake current_tracer <&-
hvtrace cat fake nothing 2>&-
echo $?
hvtrace detach fake >/dev/null
