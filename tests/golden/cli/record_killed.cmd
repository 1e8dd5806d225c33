# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function fake --for 1m &
records $! function
kill -9 $!
wait $! 2>/dev/null
no_service
ls $RUN
