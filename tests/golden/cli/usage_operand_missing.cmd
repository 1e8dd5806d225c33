# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace cat web1
