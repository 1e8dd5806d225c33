# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach web1 web2
