# SPDX-License-Identifier: GPL-2.0-or-later
hvtrace run; echo $?
hvtrace run --kernel k web1; echo $?
hvtrace run --kernel k --memory lots; echo $?
hvtrace run --kernel k --smp 0; echo $?
hvtrace run --kernel k --name ../x; echo $?
hvtrace run --kernel k --patch huge; echo $?
hvtrace run --kernel k --trace-boot; echo $?
hvtrace run --kernel k -o trace; echo $?
hvtrace run --kernel k -l 'vfs_*'; echo $?
hvtrace run --frob; echo $?
hvtrace run --kernel k; echo $?
hvtrace run --kernel ''; echo $?
hvtrace run --kernel k --initrd ''; echo $?
hvtrace run --kernel k -p functions; echo $?
