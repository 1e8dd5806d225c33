# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace run --kernel k --name fake
echo $?
hvtrace detach fake
hvtrace run --kernel k --name fake
echo $?
hvtrace run --kernel k --name one-with-rather-a-long-name
hvtrace run --kernel k --name free
