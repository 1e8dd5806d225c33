# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p function -l nosuch fake --for 1
