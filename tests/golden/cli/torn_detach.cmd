# SPDX-License-Identifier: GPL-2.0-or-later
# A detach that fails in the middle ends the session: nothing may be traced any more.
hvtrace attach fake
hvtrace echo fake control torn
hvtrace detach fake
echo $?
no_service
hvtrace echo fake current_tracer function
echo $?
hvtrace recover fake
