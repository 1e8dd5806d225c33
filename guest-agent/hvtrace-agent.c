/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace-agent: what a guest may tell hvtrace by itself. Nothing in hvtrace needs it. It is static
 * and asks for no rights, so that it runs in any container. */
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
	"mark writes TEXT into the trace that hvtrace takes of this machine from outside, at the\n"
	"time of the call; with '-' each line of the standard input, when it has been read.\n"
	"While nobody traces, a mark costs one system call and does nothing.\n"
	"serve tells the host of which cgroup each process is, what it has mapped, and the time:\n"
	"by PORT, as /dev/virtio-ports/hvtrace.agent, once or every two seconds; or, with\n"
	"vsock:PORT, whenever the host connects to that port of vsock. vsock:CID:PORT takes\n"
	"connections from CID in place of the host.\n";

/* Marks the NR words with a blank between them. What is longer than a mark is cut off. */
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
