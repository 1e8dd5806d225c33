# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace recover fake
echo $?
hvtrace detach fake
