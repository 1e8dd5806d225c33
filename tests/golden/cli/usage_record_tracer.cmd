# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace record -p irqs web1 --for 1
