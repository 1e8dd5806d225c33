# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace cat fake trace
echo $?
hvtrace cat nosuch trace
