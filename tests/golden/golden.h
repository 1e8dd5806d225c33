/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden tests: a directory of pairs NAME.in and NAME.out, so a new test is two files. A mismatch
 * shows the first line that differs. --update writes the .out files instead; review them like
 * code. */
#pragma once

#include <stdio.h>

/* Runs RUN on each .in and compares its output with the .out. ARGS: [--update] DIR. Returns main's
 * exit code. */
int hv_golden_main(int argc, char **argv, void (*run)(FILE *in, FILE *out));
