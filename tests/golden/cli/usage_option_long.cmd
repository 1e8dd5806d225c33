# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach --frob=1 web1
