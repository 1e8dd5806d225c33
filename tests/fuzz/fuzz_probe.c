/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads any words as the arguments of a probe, and makes its texts and its program. The first byte
 * chooses what is probed and what the kernel knows. */
#include <string.h>

#include "kernel/kernel.h"
#include "tests/lib/fake_session.h"
#include "tree/settings/kprobe.h"

#define WORDS_MAX 140

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hv_session *session;

static void use(struct hv_kprobe *k)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	uint8_t entry[4096] = {0};
	struct hv_kprobe_call call = {.comm = "comm"};
	size_t nr = 0;

	hv_kprobe_text(k, &text);
	hv_kprobe_print_fmt(k, &text);
	hv_kprobe_program(k, steps, &nr);
	hv_kprobe_fill(k, &call, 24, entry, sizeof(entry));
	hv_kprobe_deinit(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const heads[][2] = {{"p", "vfs_open"}, {"r:x", "vfs_read"},
					       {"f", "longest"},  {"t", "sched_switch"},
					       {"p", "unnamed"},  {"f2", "vfs_open%return"}};
	const char *const *head = heads[size ? data[0] % 6 : 0];
	HV_AUTO_FREE char *line = NULL;
	char *words[WORDS_MAX] = {(char *)head[0], (char *)head[1]}, *rest;
	struct hv_kprobe_kernel kernel = {.has_btf_args = size && data[0] & 0x40};
	struct hv_kprobe k;
	struct hv_err *err;
	unsigned at;
	size_t nr = 2;

	if (!session) {
		session = hv_fake_new();
		hv_fake_types(session);
	}
	kernel.arch = session->kernel->core.as.arch;
	kernel.btf = size && data[0] & 0x80 ? NULL : session->kernel->core.btf;
	line = size ? hv_format("%.*s", (int)size - 1, (const char *)data + 1) : hv_strdup("");
	rest = line;
	for (char *word; nr < WORDS_MAX && (word = strsep(&rest, " "));)
		if (*word)
			words[nr++] = word;
	err = hv_kprobe_parse(&kernel, words, nr, &k, &at);
	if (!err)
		use(&k);
	hv_err_free(err);
	return 0;
}
