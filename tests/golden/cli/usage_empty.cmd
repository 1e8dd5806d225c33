# SPDX-License-Identifier: GPL-2.0-or-later
# An unset shell variable gives an empty word: it names nothing, and never "every function".
for words in "check ''" "cat fake ''" "ls '' options" "echo fake '' x" "exec fake ''" "mount fake ''" \
	"attach --vmlinux= fake" "check --btf= fake" "record -p function -l '' fake --for 1" "record -p '' fake --for 1" \
	"record -p function -l vfs_read -n '' fake --for 1" "run --kernel=" "run --kernel=k -p function -o ''" \
	"run --kernel=k -p function -l ''" "sh fake -c"; do
	eval "hvtrace $words" 2>&1
	echo "$?"
done
# A kernel's command line may be empty.
hvtrace run --kernel=nosuch --append= 2>&1
