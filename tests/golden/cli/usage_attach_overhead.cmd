# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach --max-overhead=101 fake
