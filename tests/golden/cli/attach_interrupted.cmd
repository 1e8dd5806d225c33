# SPDX-License-Identifier: GPL-2.0-or-later
mkdir $RUN.test
mkfifo $RUN.test/fifo
# The shell makes its background jobs ignore SIGINT.
env --default-signal=INT hvtrace attach --vmlinux=$RUN.test/fifo fake 2>$RUN.test/err &
until [ -e "$(echo $RUN/*/pid)" ]; do sleep 0.05; done
kill -INT $!
until grep -q undoing $RUN.test/err; do sleep 0.05; done
: >$RUN.test/fifo
wait $!
echo $?
cat $RUN.test/err
no_service
hvtrace attach fake
hvtrace detach fake
rm -r $RUN.test
