# SPDX-License-Identifier: GPL-2.0-or-later
# A detach that fails in the middle ends the session: no function may stay traced.
hvtrace attach fake
hvtrace echo fake control torn
hvtrace detach fake
echo $?
no_service
hvtrace echo fake current_tracer function
echo $?
hvtrace recover fake
