# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attahc fake
hvtrace helpp
hvtrace help recrod
hvtrace xyz
hvtrace list --jsno
hvtrace attach --viaa=auto fake
hvtrace attach --xyzzy fake
