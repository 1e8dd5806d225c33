/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any hist trigger, parsed, counted with any entries, and shown. The input is a number of words, as
 * many bytes that stand for words or for themselves, and entries of 40 bytes. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_session.h"
#include "tree/instance/hist_table.h"

#define ENTRY_BYTES 40u

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
	{"n", "char[16]", 24, 16, 0, 0, true},
	{"o", "u64[3]", 16, 24, 0, 0, false},
	{"far", "u64", 4000, 8, 0, 0, false},
	{"w", "char[8]", 24, UINT32_MAX, 0, 0, true},
};
static const char *const words[] = {
	"hist:keys=",
	":vals=",
	":sort=",
	".descending",
	":size=",
	"128",
	":name=x",
	":pause",
	":clear",
	":cont",
	":NOHC",
	":clock=global",
	" if ",
	",",
	"common_pid",
	"a",
	"b",
	"c",
	"t",
	"r",
	"n",
	"o",
	"far",
	"w",
	"hitcount",
	"cpu",
	".usecs",
	"common_cpu",
	".hex",
	".sym",
	".sym-offset",
	".execname",
	".log2",
	".buckets=7",
	".syscall",
	".percent",
	".graph",
	"+",
	"-",
	"*",
	"/",
	"-(",
	")",
	"1",
	"0",
	"18446744073709551615",
	"common_timestamp",
	"$x",
	"onmax(",
	"stacktrace",
	"!",
	".",
};

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static unsigned next_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static char *make_trigger(struct input *in)
{
	struct hv_text text = {0};
	unsigned nr = next_byte(in);

	for (unsigned i = 0; i < nr; i++) {
		unsigned byte = next_byte(in);

		if (byte < HV_ARRAY_LEN(words))
			hv_text_add(&text, words[byte]);
		else if (byte)
			hv_text_add_char(&text, (char)byte);
	}
	hv_text_add(&text, "");
	return hv_text_take(&text);
}

/* Each entry ends where its memory does. */
static void count(struct hv_hist_table *t, const struct hv_hist_spec *s, const struct input *in)
{
	char comm[16] = "any";

	for (const uint8_t *at = in->at; at < in->end; at += ENTRY_BYTES) {
		size_t left = (size_t)(in->end - at), len = left < ENTRY_BYTES ? left : ENTRY_BYTES;
		uint8_t *entry = hv_alloc(len);
		struct hv_hist_record record = {{entry, len}, 1, 12345};

		memcpy(entry, at, len);
		hv_hist_table_add(t, s, &record, comm);
		free(entry);
		if (left <= ENTRY_BYTES)
			return;
	}
}

static void look_at(const struct hv_session *session, const struct hv_catalogue *c,
		    const struct hv_hist_spec *s, const struct input *in)
{
	struct hv_hist_names names = {.kernel = session->kernel, .catalogue = c};
	struct hv_hist_table *t = hv_hist_table_new(s);
	HV_AUTO_TEXT struct hv_text text = {0};

	count(t, s, in);
	hv_hist_text_spec(s, HV_HIST_IS_ACTIVE, &text);
	hv_hist_table_text(t, s, &names, &text);
	for (size_t i = 0; i < text.len_bytes; i++)
		if (text.data[i] == '\033')
			abort();
	hv_hist_table_unref(t);
	if (!hv_hist_spec_is_like(s, s))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hv_session *session;
	struct hv_catalogue catalogue = {.common = {common, HV_ARRAY_LEN(common)}};
	struct hv_event_type type = {.fields = {fields, HV_ARRAY_LEN(fields)}};
	struct input in = {data, data + size};
	HV_AUTO_FREE char *trigger = make_trigger(&in);
	struct hv_hist_fault fault = {0};
	struct hv_hist_spec s;

	if (!session) {
		session = hv_fake_new();
		hv_fake_site(session, 0xffffffff81000000, "one", NULL, 0);
	}
	if (!hv_hist_spec_is(trigger))
		return 0;
	if (!hv_hist_spec_parse(&catalogue, &type, trigger, &s, &fault)) {
		if (!fault.code || fault.at > strlen(trigger) + strlen("hist:"))
			abort();
		return 0;
	}
	look_at(session, &catalogue, &s, &in);
	hv_hist_spec_deinit(&s);
	return 0;
}
