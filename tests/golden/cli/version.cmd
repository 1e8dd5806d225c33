# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace --version | sed 's/ [0-9.]* (commit [^ ]*)/ X (commit N)/'
