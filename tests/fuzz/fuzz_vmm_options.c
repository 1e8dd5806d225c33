/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the parsing of QEMU's command line (vmm/qemu/options.h) with the arguments of a hostile
 * VMM, which are separated by zeros. A path that is found begins with "/" and is part of the
 * arguments; a value that is quoted in an option is found again; a size does not wrap around. */
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "vmm/qemu/options.h"

#define ARGS_MAX 64
#define CWD	 "/proc/1/cwd/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* A comma in a value is doubled. */
static char *quoted(const char *value)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_add(&t, "socket,id=x,path=");
	for (; *value; value++)
		hv_text_add(&t, *value == ',' ? ",," : (char[]){*value, '\0'});
	hv_text_add(&t, ",path=last");
	return hv_text_take(&t);
}

static void check_value(const char *arg)
{
	HV_AUTO_FREE char *option = quoted(arg);
	HV_AUTO_FREE char *value = hv_option_value(option, "path", NULL);
	HV_AUTO_FREE char *first = hv_option_value(option, "backend", "backend");

	require(value && !strcmp(value, arg));
	require(first && !strcmp(first, "socket"));
}

static void check_size(const char *arg)
{
	unsigned long long plain = strtoull(arg, NULL, 0);
	uint64_t bytes;

	if (hv_size_parse(arg, &bytes))
		require(arg[0] != '-' && bytes >= plain && (!plain || bytes % plain == 0));
}

static void check_option(const char *arg)
{
	static const char *const keys[] = {"id", "path", "chardev", "mode", "size", "mem-path", ""};

	for (size_t i = 0; i < HV_ARRAY_LEN(keys); i++) {
		HV_AUTO_FREE char *value = hv_option_value(arg, keys[i], i % 2 ? NULL : keys[i]);

		require(!value || strlen(value) <= strlen(arg));
	}
}

static void check_path(const struct hv_process *p)
{
	HV_AUTO_FREE char *path = hv_process_qmp_path(p);
	size_t longest = 0;

	for (size_t i = 0; i < p->nr_args; i++)
		if (strlen(p->args[i]) > longest)
			longest = strlen(p->args[i]);
	require(!path || (path[0] == '/' && strlen(path) <= longest + strlen(CWD)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *args[ARGS_MAX + 1] = {NULL};
	struct hv_process p = {.pid = 1, .args = args};

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at <= size && p.nr_args < ARGS_MAX; at += strlen(text + at) + 1)
		args[p.nr_args++] = text + at;
	for (size_t i = 0; i < p.nr_args; i++) {
		check_value(args[i]);
		check_size(args[i]);
		check_option(args[i]);
	}
	check_path(&p);
	free(text);
	return 0;
}
