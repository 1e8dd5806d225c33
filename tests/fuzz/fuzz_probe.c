/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses any words as the arguments of a probe on a function, a tracepoint or an event, and makes
 * its texts, its program and an entry. The first byte selects the kind of probe and the kernel's
 * features. */
#include <string.h>

#include "kernel/kernel.h"
#include "tests/lib/fake_session.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/settings/eprobe.h"
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
	hv_kprobe_program(k, NULL, steps, &nr);
	hv_kprobe_fill(k, &call, 24, entry, sizeof(entry));
	hv_kprobe_deinit(k);
}

/* Parses a probe on an event, with the input as the event's record. */
static void read_eprobe(char *const *words, size_t nr, struct hv_span record, bool looks_early)
{
	struct hv_eprobe_kernel kernel = {.scope = {.kernel = session->kernel, .nr_cpus = 2},
					  .looks_early = looks_early,
					  .btf = session->kernel->core.btf,
					  .has_casts = looks_early};
	uint8_t entry[4096] = {0};
	struct hv_kprobe_call call = {.comm = "comm", .event = record, .results = record};
	const struct hv_kprobe_carrier carriers[] = {{0}, {true, 7, 8, 16, 24}};
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	size_t nr_steps = 0;
	HV_AUTO_FREE char *filter = NULL;
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_filter_fault of_filter;
	struct hv_eprobe e;
	struct hv_err *err = hv_event_types_catalogue(session->types, &kernel.scope.catalogue);
	struct hv_kprobe_fault fault;

	if (!err)
		err = hv_eprobe_parse(&kernel, words, nr, &e, &fault, &of_filter, &filter);
	if (!err) {
		hv_kprobe_text(&e.is, &text);
		hv_kprobe_print_fmt(&e.is, &text);
		for (unsigned i = 0; i < HV_ARRAY_LEN(carriers); i++)
			hv_kprobe_program(&e.is, &carriers[i], steps, &nr_steps);
		hv_kprobe_has_results(&e.is, record);
		hv_kprobe_fill(&e.is, &call, 8, entry, sizeof(entry));
		hv_eprobe_has_head(&e, words + 1, nr - 1);
		hv_eprobe_deinit(&e);
	}
	hv_err_free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const heads[][2] = {
		{"p", "vfs_open"},	    {"r:x", "vfs_read"}, {"f", "longest"},
		{"t", "sched_switch"},	    {"p", "unnamed"},	 {"f2", "vfs_open%return"},
		{"e", "sched.sched_wakeup"}};
	const char *const *head = heads[size ? data[0] % 7 : 0];
	HV_AUTO_FREE char *line = NULL;
	HV_AUTO_FREE char *meant = NULL;
	char *words[WORDS_MAX] = {(char *)head[0], (char *)head[1]}, *rest;
	struct hv_kprobe_kernel kernel = {.has_btf_args = size && data[0] & 0x40,
					  .has_dentries = size && data[0] & 0x20,
					  .keeps_args = size && data[0] & 0x10,
					  .has_casts = size && data[0] & 0x08};
	struct hv_kprobe k;
	struct hv_err *err;
	struct hv_kprobe_fault fault;
	size_t nr = 2;

	if (!session) {
		session = hv_fake_new();
		hv_fake_types(session);
		hv_fake_scheduler(session);
	}
	kernel.arch = session->kernel->core.as.arch;
	kernel.btf = size && data[0] & 0x80 ? NULL : session->kernel->core.btf;
	line = size ? hv_format("%.*s", (int)size - 1, (const char *)data + 1) : hv_strdup("");
	rest = line;
	for (char *word; nr < WORDS_MAX && (word = strsep(&rest, " "));)
		if (*word)
			words[nr++] = word;
	if (*head[0] == 'e') {
		read_eprobe(words, nr, (struct hv_span){data, size}, kernel.has_btf_args);
		return 0;
	}
	err = hv_kprobe_parse(&kernel, words, nr, &k, &fault, &meant);
	if (!err)
		use(&k);
	hv_err_free(err);
	return 0;
}
