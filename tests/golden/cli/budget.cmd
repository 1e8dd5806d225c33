# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach --max-overhead=4.5% fake
hvtrace stat fake | grep overhead
hvtrace echo fake current_tracer function
hvtrace echo fake control load 80000
until hvtrace stat fake 2>&1 | grep -q '^not traced'; do sleep 0.05; done
hvtrace stat fake | grep -e overhead -e '^not traced'
grep -o 'limit_ppm=.* bytes' $RUN/*/log
hvtrace detach fake
# The limit of record ends with its connection.
hvtrace attach fake
hvtrace echo fake control load 30000
mkdir $RUN.test
hvtrace record -p function --max-overhead 2 fake -- sh -c \
	'until hvtrace stat fake | grep -q "^not traced"; do sleep 0.05; done' >/dev/null 2>$RUN.test/err
cat $RUN.test/err
hvtrace stat --json fake | grep limit_ppm
hvtrace detach fake
rm -r $RUN.test
# The log has the reason when functions stay traced, or cannot be traced.
logged() {
	until sed -n "s/^[^ ]* //; /$1/p" $RUN/*/log | grep -m 1 .; do sleep 0.02; done
}
hvtrace attach --max-overhead=4.5% fake
hvtrace echo fake control stuck
logged 'costly functions'
hvtrace echo fake control livepatch 1
logged 'steps aside'
hvtrace echo fake control livepatch 0
logged 'no longer'
hvtrace detach fake
