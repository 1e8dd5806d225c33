# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
hvtrace attach fake
echo $?
hvtrace attach 1f0a4a3e-0000-4000-8000-000000000001
echo $?
hvtrace detach fake
