/* Golden pairs: a directory of NAME.in and NAME.out; a new test is two files. A mismatch shows the
 * first line that differs; --update writes the .out files instead, to be reviewed like code. */
#pragma once

#include <stdio.h>

/* RUN turns an .in into what its .out must be. ARGS: [--update] DIR. Returns main's exit code. */
int hv_golden_main(int argc, char **argv, void (*run)(FILE *in, FILE *out));
