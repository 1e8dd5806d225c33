/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/golden/golden.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/text.h"

static void fclose_at(FILE **f)
{
	if (*f)
		fclose(*f);
}
#define AUTO_FILE hv_cleanup(fclose_at)

static bool read_file(const char *path, struct hv_text *ret)
{
	AUTO_FILE FILE *f = fopen(path, "r");
	char buf[4096];
	size_t n;

	if (!f)
		return false;
	hv_text_add(ret, "");
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		hv_text_add_bytes(ret, buf, n);
	return true;
}

static char *make_output(const char *in_path, void (*run)(FILE *in, FILE *out), size_t *ret_len)
{
	AUTO_FILE FILE *in = fopen(in_path, "r");
	char *made = NULL;
	FILE *out = open_memstream(&made, ret_len);

	if (!in || !out)
		abort();
	run(in, out);
	fclose(out);
	return made;
}

static void show_difference(const char *name, const char *want, const char *got)
{
	unsigned line = 1;

	for (;;) {
		size_t a = strcspn(want, "\n"), b = strcspn(got, "\n");

		if (a != b || memcmp(want, got, a) != 0 || !want[a] != !got[b]) {
			fprintf(stderr, "%s: line %u\n  want: %.*s\n  got:  %.*s\n", name, line,
				(int)a, want, (int)b, got);
			return;
		}
		if (!want[a])
			return;
		want += a + 1;
		got += b + 1;
		line++;
	}
}

static bool run_pair(const char *dir, const char *name, bool update,
		     void (*run)(FILE *in, FILE *out))
{
	HV_AUTO_TEXT struct hv_text in = {0}, out = {0}, want = {0};
	HV_AUTO_FREE char *got = NULL;
	size_t len;

	hv_text_printf(&in, "%s/%s.in", dir, name);
	hv_text_printf(&out, "%s/%s.out", dir, name);
	got = make_output(in.data, run, &len);
	if (update) {
		AUTO_FILE FILE *f = fopen(out.data, "w");

		return f && fwrite(got, 1, len, f) == len;
	}
	if (!read_file(out.data, &want)) {
		fprintf(stderr, "%s: there is no %s\n", name, out.data);
		return false;
	}
	if (want.len_bytes == len && memcmp(want.data, got, len) == 0)
		return true;
	show_difference(name, want.data, got);
	return false;
}

static int only_inputs(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 3 && strcmp(d->d_name + len - 3, ".in") == 0;
}

int hv_golden_main(int argc, char **argv, void (*run)(FILE *in, FILE *out))
{
	bool update = argc == 3 && strcmp(argv[1], "--update") == 0;
	const char *dir = argc >= 2 ? argv[argc - 1] : ".";
	struct dirent **names;
	int nr = scandir(dir, &names, only_inputs, alphasort);
	unsigned nr_failed = 0;

	if (nr <= 0) {
		fprintf(stderr, "%s: no golden pairs\n", dir);
		return 1;
	}
	for (int i = 0; i < nr; i++) {
		names[i]->d_name[strlen(names[i]->d_name) - 3] = '\0';
		if (!run_pair(dir, names[i]->d_name, update, run))
			nr_failed++;
		free(names[i]);
	}
	free(names);
	printf("%d golden pairs, %u wrong\n", nr, nr_failed);
	return nr_failed ? 1 : 0;
}
