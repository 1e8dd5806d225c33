# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace attach fake
mv $RUN/* $RUN.gone
until hvtrace cat fake current_tracer 2>/dev/null; do sleep 0.05; done
sed -n 's/^[^ ]* //; /removed/p' $RUN/*/log
hvtrace echo fake current_tracer function
hvtrace detach fake
rm -r $RUN.gone
