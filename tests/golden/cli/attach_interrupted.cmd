# SPDX-License-Identifier: GPL-2.0-or-later
mkdir $RUN.test
mkfifo $RUN.test/fifo
# Starts an attach that waits for a writer of the fifo. The shell makes its background jobs ignore SIGINT.
attaching() {
	env --default-signal=INT hvtrace attach --vmlinux=$RUN.test/fifo fake 2>$RUN.test/err &
	until [ -e "$(echo $RUN/*/pid)" ]; do sleep 0.05; done
}
attaching
hvtrace attach fake 2>&1
kill -INT $!
until grep -q undoing $RUN.test/err; do sleep 0.05; done
: >$RUN.test/fifo
wait $!
echo $?
cat $RUN.test/err
no_service
# The second signal ends the command.
attaching
kill -INT $!
until grep -q undoing $RUN.test/err; do sleep 0.05; done
kill -INT $!
wait $!
echo $?
cat $RUN.test/err
: >$RUN.test/fifo
no_service
# Only the service is killed: the command waits until the broker has restored the guest.
attaching
service=$(cat $RUN/*/pid)
broker=$(pgrep -P $service)
kill -STOP $broker
kill -9 $service
while kill -0 $service 2>/dev/null; do sleep 0.05; done
sleep 0.2
kill -0 $! && echo waits
kill -CONT $broker
wait $!
echo $?
cat $RUN.test/err
no_service
# The service and its broker are killed.
attaching
pids="$(pgrep -P $(cat $RUN/*/pid)) $(cat $RUN/*/pid)"
kill -9 $pids
wait $!
echo $?
cat $RUN.test/err
hvtrace recover fake
hvtrace attach fake
hvtrace detach fake
rm -r $RUN.test
