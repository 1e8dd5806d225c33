# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Functions to download packages of a Debian suite with apt, for scripts that source this file. This
# machine's suite uses the system's apt configuration. Other suites use a private configuration in the
# cache, so that the system's configuration is not changed.
#   HVTRACE_CACHE     the cache (default ~/.cache/hvtrace)
#   HVTRACE_MIRROR    the mirror for other suites (default http://deb.debian.org/debian)

cache=${HVTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hvtrace}
own_suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# suite_lock: locks the cache until suite_unlock or the end of this process, so that only one process
# unpacks into it.
suite_lock() {
	mkdir -p "$cache/apt"
	exec 9>"$cache/apt/lock"
	flock 9
}
suite_unlock() { exec 9>&-; }

# suite_open SUITE [ARCHITECTURE]: sets the apt options for SUITE, which the functions below use. Other
# architectures also use a private configuration.
suite_open() {
	local architecture=${2:-amd64} keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	local private=$cache/apt/$1
	apt=(-q -o APT::Sandbox::User=root -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
	if [ "$architecture" != amd64 ]; then
		private+=-$architecture
	elif [ "$1" = "$own_suite" ]; then
		return 0
	fi
	mkdir -p "$private/lists/partial" "$private/archives/partial"
	: >"$private/status"
	echo "deb [arch=$architecture signed-by=$keyring] ${HVTRACE_MIRROR:-http://deb.debian.org/debian} $1 main" >"$private/sources.list"
	apt+=(-o "Dir::State::lists=$private/lists" -o "Dir::Cache::archives=$private/archives"
		-o "Dir::Etc::sourcelist=$private/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::status=$private/status" -o "APT::Architecture=$architecture"
		-o "APT::Architectures::=$architecture")
}

# suite_update: downloads the package lists of the suite.
suite_update() {
	say "apt-get update"
	apt-get "${apt[@]}" update >&2
}

# suite_download DIRECTORY PACKAGE...: downloads the packages' .deb files into DIRECTORY.
suite_download() {
	local into=$1
	shift
	say "downloading $*"
	(cd "$into" && apt-get "${apt[@]}" download "$@" >&2)
}
