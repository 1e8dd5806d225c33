/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses any filter, evaluates it on any entry, and parses it as a trigger. The input is a number
 * of words, then as many bytes, each for a word or a character, then the entry, which begins with
 * offsets of texts. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"
#include "tests/lib/fake_session.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hv_event_field common[] = {
	{"common_pid", "int", 4, 4, 0, 0, true},
};
static struct hv_event_field fields[] = {
	{"a", "u8", 8, 1, 0, 0, false},
	{"b", "short", 10, 2, 0, 0, true},
	{"c", "long", 16, 8, 0, 0, true},
	{"t", "__data_loc char[]", 8, 4, 0, 0, true},
	{"r", "__rel_loc char[]", 12, 4, 0, 0, true},
	{"m", "__data_loc cpumask_t", 8, 4, 0, 0, false},
	{"n", "char[16]", 24, 16, 0, 0, true},
	{"p", "char *", 16, 8, 0, 0, false},
	{"o", "u64[3]", 16, 24, 0, 0, false},
	{"far", "u64", 4000, 8, 0, 0, false},
};
static const char *const words[] = {
	"common_pid",
	"a",
	"b",
	"c",
	"t",
	"r",
	"m",
	"n",
	"p",
	"o",
	"far",
	"COMM",
	"CPU",
	" == ",
	"!=",
	"<=",
	"<",
	">=",
	">",
	"&",
	"~",
	"&&",
	"||",
	"!",
	"(",
	")",
	"'",
	"\"",
	"'x'",
	"\"*x*\"",
	"'a?[b-c]*'",
	".function",
	".ustring",
	"CPUS{",
	"}",
	"0-3,5",
	"all",
	":1/2",
	"0x",
	"-1",
	"traceon",
	"!",
	"enable_event",
	":",
	" if ",
	"1",
	"255",
	"one",
	"a==1",
	" ",
	"t == 'x'",
};

/* The buffers of the entry and of the name end exactly at their last byte. */
static void look_at(const struct hv_session *s, const struct hv_event_filter *f,
		    const struct input *in)
{
	char comm[HV_COMM_LEN] = "any";
	struct hv_filter_record record = {.cpu = 1, .comm = comm, .kernel = s->kernel};
	size_t len = (size_t)(in->end - in->at);
	uint8_t *entry = hv_alloc(len);

	memcpy(entry, in->at, len);
	memcpy(comm, entry, len < sizeof(comm) ? len : sizeof(comm));
	record.entry = (struct hv_span){entry, len};
	if (hv_event_filter_passes(f, &record) != hv_event_filter_passes(f, &record))
		abort();
	free(entry);
}

static void parse_as_trigger(const char *text)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	struct hv_trigger t;
	struct hv_err *err = hv_trigger_parse(text, &t);

	if (!err) {
		hv_trigger_text(&t, &shown);
		hv_trigger_deinit(&t);
	}
	hv_err_free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hv_session *session;
	struct hv_catalogue catalogue = {.common = {common, HV_ARRAY_LEN(common)}};
	struct hv_event_type type = {.fields = {fields, HV_ARRAY_LEN(fields)}};
	struct input in = {data, data + size};
	HV_AUTO_FREE char *filter = next_words(&in, words, HV_ARRAY_LEN(words));
	struct hv_filter_fault fault = {0};
	struct hv_event_filter *f;

	if (!session) {
		session = hv_fake_new();
		hv_fake_site(session, 0xffffffff81000000, "one", NULL, 0);
	}
	f = hv_event_filter_parse(&(struct hv_filter_scope){session->kernel, &catalogue, &type, 70},
				  filter, &fault);
	/* For a missing closing brace, the kernel reports an offset after the end. */
	if (f ? fault.code != 0 : !fault.code || fault.at > strlen(filter) + 2)
		abort();
	if (f)
		look_at(session, f, &in);
	hv_event_filter_free(f);
	parse_as_trigger(filter);
	return 0;
}
