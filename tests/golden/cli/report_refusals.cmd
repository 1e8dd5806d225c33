# SPDX-License-Identifier: GPL-2.0-or-later
# Files that report refuses, each in one line with its name.
mkdir $RUN.d
hvtrace report $RUN.d/nosuch; echo $?
printf '\027\010\104tracing9\0' >$RUN.d/new.dat
hvtrace report $RUN.d/new.dat; echo $?
printf '\050\265\057\375zzzzzzzz' >$RUN.d/bad.zst
hvtrace report $RUN.d/bad.zst; echo $?
mkdir $RUN.d/dir
hvtrace report $RUN.d/dir; echo $?
hvtrace report --json $RUN.d/dir; echo $?
hvtrace report --json $RUN.d/new.dat $RUN.d/new.dat; echo $?
printf '\n\n' >$RUN.d/perfetto
hvtrace report $RUN.d/perfetto; echo $?
printf '\027\010\104tracing6\0\0' >$RUN.d/short.dat
hvtrace report $RUN.d/short.dat; echo $?
echo garbage >$RUN.d/dir/metadata
hvtrace report $RUN.d/dir; echo $?
failing prctl:0=1 EINVAL hvtrace report $RUN.d/short.dat; echo $?
