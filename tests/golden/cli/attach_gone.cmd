# SPDX-License-Identifier: GPL-2.0-or-later
# The service cannot report to the command, or the command cannot wait for it: the service detaches.
mkdir $RUN.test
mkfifo $RUN.test/fifo
# Only the report to the command has 128 bytes.
failing sendto:2=128 EPIPE hvtrace attach --vmlinux=$RUN.test/fifo fake 2>$RUN.test/err &
until ln $RUN/*/log $RUN.test/log 2>/dev/null; do sleep 0.05; done
: >$RUN.test/fifo
wait $!
echo $?
cat $RUN.test/err
no_service
sed -n '/has gone/s/^[^ ]* //p' $RUN.test/log
failing ppoll ENOMEM hvtrace attach fake
echo $?
until hvtrace attach fake >/dev/null 2>&1; do sleep 0.05; done
hvtrace detach fake
rm -r $RUN.test
