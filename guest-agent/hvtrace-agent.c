/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace-agent runs in the guest and reports to hvtrace on the host. It is optional. It is linked
 * statically and needs no privileges to make marks, so that it runs in any container. */
#include <stdio.h>
#include <string.h>

#include "guest-agent/hvtrace-mark.h"
#include "guest-agent/serve.h"

#define MARK_MAX (HVTRACE_MARK_PARTS * HVTRACE_MARK_WORDS * sizeof(unsigned long))

static const char usage[] =
	"usage: hvtrace-agent mark TEXT...\n"
	"       hvtrace-agent mark -\n"
	"       hvtrace-agent serve [--once] PORT\n"
	"       hvtrace-agent --help | --version\n"
	"\n"
	"mark adds TEXT to the trace that hvtrace on the host takes of this machine. With '-',\n"
	"it adds each line of standard input as soon as it is read. Without a trace, a mark\n"
	"costs one system call.\n"
	"serve reports to the host the cgroup and the mappings of each process, and the time.\n"
	"PORT is a virtio-serial port such as /dev/virtio-ports/hvtrace.agent, which receives\n"
	"a report every two seconds, or only one with --once. With vsock:PORT, each client\n"
	"that connects to this vsock port from the host receives a report; with\n"
	"vsock:CID:PORT, each client from machine CID.\n";

/* Marks the NR words, joined by spaces. Text beyond MARK_MAX bytes is cut off. */
static void mark_words(char *const *words, int nr)
{
	char text[MARK_MAX + 1] = "";
	size_t len = 0;

	for (int i = 0; i < nr && len < MARK_MAX; i++) {
		int more = snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "", words[i]);

		len += more < 0 ? 0 : (size_t)more;
	}
	hvtrace_mark(text);
}

static int mark_lines(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, stdin)) >= 0)
		hvtrace_mark_bytes(line, (size_t)len - (len && line[len - 1] == '\n'));
	if (!ferror(stdin))
		return 0;
	fprintf(stderr, "hvtrace-agent: standard input: %s\n", strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "--help") == 0)
		return fputs(usage, stdout) < 0;
	if (strcmp(verb, "--version") == 0)
		return puts("hvtrace-agent " HVTRACE_VERSION) < 0;
	if (strcmp(verb, "mark") == 0 && argc == 3 && strcmp(argv[2], "-") == 0)
		return mark_lines();
	if (strcmp(verb, "mark") == 0 && argc > 2) {
		mark_words(argv + 2, argc - 2);
		return 0;
	}
	if (strcmp(verb, "serve") == 0 && argc == 3 && argv[2][0] != '-')
		return serve(argv[2], 0);
	if (strcmp(verb, "serve") == 0 && argc == 4 && strcmp(argv[2], "--once") == 0)
		return serve(argv[3], 1);
	fputs(usage, stderr);
	return 2;
}
