# shellcheck shell=bash
# Sourced: apt for a Debian suite, this machine's own from its own sources, any other through a
# configuration in the cache that leaves the machine's as it is.
#   HVTRACE_CACHE     where (~/.cache/hvtrace)
#   HVTRACE_MIRROR    of other suites (http://deb.debian.org/debian)

cache=${HVTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hvtrace}
own_suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# suite_lock: until this process ends; two runs at a time would unpack into each other.
suite_lock() {
	mkdir -p "$cache/apt"
	exec 9>"$cache/apt/lock"
	flock 9
}

# suite_open SUITE: what apt is told from now on.
suite_open() {
	local private=$cache/apt/$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	apt=(-q -o APT::Sandbox::User=root -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
	[ "$1" != "$own_suite" ] || return 0
	mkdir -p "$private/lists/partial" "$private/archives/partial"
	: >"$private/status"
	echo "deb [arch=amd64 signed-by=$keyring] ${HVTRACE_MIRROR:-http://deb.debian.org/debian} $1 main" >"$private/sources.list"
	apt+=(-o "Dir::State::lists=$private/lists" -o "Dir::Cache::archives=$private/archives"
		-o "Dir::Etc::sourcelist=$private/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::status=$private/status" -o APT::Architecture=amd64
		-o APT::Architectures::=amd64)
}

suite_update() {
	say "apt-get update"
	apt-get "${apt[@]}" update >&2
}

# suite_download DIRECTORY PACKAGE...: their .deb files into it.
suite_download() {
	local into=$1
	shift
	say "downloading $*"
	(cd "$into" && apt-get "${apt[@]}" download "$@" >&2)
}
