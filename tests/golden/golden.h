/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden tests: a directory with pairs of NAME.in and NAME.out, so a new test is two files. On a
 * mismatch the test prints the first line that differs. --update writes the .out files instead;
 * review them like code. */
#pragma once

#include <stdio.h>

/* Calls RUN for each .in and compares its output with the .out. ARGS: [--update] DIR. Returns
 * main's exit code. */
int hv_golden_main(int argc, char **argv, void (*run)(FILE *in, FILE *out));
