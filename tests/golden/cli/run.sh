#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh FAKE_HVTRACE [NAME...]: each NAME.cmd is a shell script in which `hvtrace` is the program on
# fakes. Its output and exit status must equal NAME.out, NAME.err (absent: nothing) and NAME.code
# (absent: 0). Process ids and times are masked. BLESS=1 writes the current output as golden.
# Most cases wait most of the time, so several run in parallel, each in a child of this script.
# A case that hangs is killed and named before meson's timeout.
set -u
here=$(cd "$(dirname "$0")" && pwd)
fake=$(readlink -f "$1")
shift
if [ $# -eq 0 ]; then
	for case in "$here"/*.cmd; do
		case=${case##*/}
		set -- "$@" "${case%.cmd}"
	done
fi
work=$(mktemp -d)

if [ $# -gt 1 ]; then
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP
	# shellcheck disable=SC2016 # the shell that xargs starts expands it
	printf '%s\n' "$@" | xargs -P 4 -n 1 sh -c '"$1" "$2" "$4" >"$3/$4" 2>&1 || echo "$4" >>"$3/failed"' sh "$0" "$fake" "$work"
	touch "$work/failed"
	for name; do
		! grep -qx "$name" "$work/failed" || cat "$work/$name"
	done
	echo "$# cases, $(wc -l <"$work/failed") failed"
	[ ! -s "$work/failed" ]
	exit
fi

# Ends services that a case left.
end_services() {
	for pid in "$work"/run/*/pid; do
		[ ! -f "$pid" ] || kill "$(cat "$pid")"
	done
}
trap 'end_services; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mkdir "$work/bin"
# Most commands are of these verbs, and a leak check takes half of their time. Cases about them set CHECK_LEAKS.
cat >"$work/bin/hvtrace" <<END
#!/bin/sh
case \${CHECK_LEAKS:-no},\$1 in no,cat | no,echo | no,ls | no,stat) export ASAN_OPTIONS="\$ASAN_OPTIONS:detect_leaks=0" ;; esac
exec "$fake" "$work/run" "\$@"
END
chmod +x "$work/bin/hvtrace"
ln -s "$(dirname "$(readlink -f "$fake")")/failing_call" "$work/bin/failing"
export PATH="$work/bin:$PATH" RUN="$work/run"

# golden FILE DEFAULT : prints FILE, or DEFAULT if it is absent
golden() {
	if [ -f "$1" ]; then cat "$1"; else printf '%s' "$2"; fi
}

plain() {
	sed -e "s|$work|WORK|g" -e 's/pid [0-9][0-9]*/pid N/g' -e 's/took [0-9.]* s/took T s/'
}

failed=0
for name; do
	timeout 120 sh -c ". $here/lib.sh; . $here/$name.cmd" >"$work/out.raw" 2>"$work/err.raw"
	code=$?
	plain <"$work/out.raw" >"$work/out"
	plain <"$work/err.raw" >"$work/err"
	if [ -n "${BLESS:-}" ]; then
		rm -f "$here/$name.out" "$here/$name.err" "$here/$name.code"
		[ ! -s "$work/out" ] || cp "$work/out" "$here/$name.out"
		[ ! -s "$work/err" ] || cp "$work/err" "$here/$name.err"
		[ $code = 0 ] || echo $code >"$here/$name.code"
	fi
	bad=
	golden "$here/$name.out" '' | diff -u - "$work/out" || bad=1
	golden "$here/$name.err" '' | diff -u - "$work/err" || bad=1
	[ "$(golden "$here/$name.code" 0)" = $code ] || { echo "exit status $code"; bad=1; }
	[ ! -d "$work/run" ] || [ -z "$(ls "$work/run")" ] || { echo "left in the run directory:" "$work"/run/*/*; bad=1; }
	end_services
	rm -rf "$work/run" "$work"/run.*
	[ -z "$bad" ] && continue
	echo "differs from the expected output: $name"
	failed=$((failed + 1))
done
echo "$# cases, $failed failed"
[ $failed = 0 ]
