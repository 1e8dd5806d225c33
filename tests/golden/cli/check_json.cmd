# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace check --json fake
hvtrace check --json nosuch
