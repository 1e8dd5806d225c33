# SPDX-License-Identifier: GPL-2.0-or-later
for v in list check attach ls cat echo record report hist top latency exporter mount umount exec sh run stat detach recover; do hvtrace $v --help || exit; done
