# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function fake -- sh -c 'exit 3'
echo $?
hvtrace record -p function fake -- ./nosuch
echo $?
hvtrace record -p function fake -- sh -c 'kill -9 $$'
