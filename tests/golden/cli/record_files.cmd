# SPDX-License-Identifier: GPL-2.0-or-later
mkdir $RUN.d
hvtrace record -p function -o $RUN.d/x.foo fake --for 1
hvtrace record -p function -o $RUN.d/x --format=foo fake --for 1
hvtrace record -p function -o - --format=trace.dat fake --for 1
hvtrace record -p function -o $RUN.d/x.dat.zst fake --for 1
hvtrace record -p function -o - --format=ctf fake --for 1
hvtrace record -p function -o $RUN.d/x.ctf.zst fake --for 1
hvtrace record -p function -o $RUN.d/x.ctf --compress fake --for 1
hvtrace record -p function --compress fake --for 1
hvtrace record -p function --format=trace.dat fake --for 1
hvtrace record -p function -o /nosuch/x.dat fake --for 1
hvtrace record -p function -o $RUN.d --format=trace.dat fake --for 1
hvtrace record -p function -o /dev/null --format=trace.dat fake --for 1
hvtrace record -p function -l nosuch -o $RUN.d/x.dat fake --for 1
ls $RUN.d
hvtrace attach fake
hvtrace echo fake control odd
hvtrace record -p function -o $RUN.d/x.dat fake --for 1
hvtrace detach fake
