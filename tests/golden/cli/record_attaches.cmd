# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function fake -- sh -c 'hvtrace cat fake instances/record-$PPID/current_tracer; hvtrace stat fake | grep sites'
