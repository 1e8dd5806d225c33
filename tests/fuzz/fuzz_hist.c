/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses any hist trigger, links it with another one, counts any entries, and prints it; also
 * parses and fills any synthetic event. The input is a number of words, then as many bytes, each
 * for a word or a character, then entries of 40 bytes. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"
#include "tests/lib/fake_session.h"
#include "tree/format/arg_texts.h"
#include "tree/format/print_fmt/print_fmt.h"
#include "tree/instance/hist/hist_table.h"
#include "tree/settings/hist/hist_spec.h"
#include "tree/settings/hist/synth.h"

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
	":x=",
	":y=",
	"$y",
	"$other",
	"other.event.$other",
	":onmatch(other.event).",
	":onmax($x).",
	":onchange($y).",
	"made(",
	"trace(made,",
	"save(",
	"snapshot()",
	"b,t,n",
	"$x,$other,t",
	"made u64 ",
	"char n[]; ",
	"char n[16]; ",
	"s16 v",
	"unsigned long w;",
	"s:synthetic/",
};

/* The objects that a trigger can refer to: a trigger with the variable $other, and an event. */
static struct hv_event_type types[] = {
	{.system = "test", .name = "event", .id = 1, .is_available = true},
	{.system = "other", .name = "event", .id = 2, .is_available = true},
};
static struct hv_hist_spec other;
static struct hv_synth made;

static bool next_other(void *of, size_t index, struct hv_hist_other *ret)
{
	(void)of;
	*ret = (struct hv_hist_other){1, &types[1], &other};
	return index == 0;
}

static const struct hv_synth *find_synth(void *of, const char *name)
{
	(void)of;
	return strcmp(name, made.name) == 0 ? &made : NULL;
}

static int add(void *of, const struct hv_event_type *type, const char *text)
{
	(void)of;
	(void)type;
	return strlen(text) % 2 ? EINVAL : 0;
}

static void must_define(const char *text, struct hv_synth *ret)
{
	struct hv_synth_fault fault;

	if (!hv_synth_parse(text, ret, &fault))
		abort();
}

/* Executes the actions of S for entry AT. */
static void act(struct hv_hist_table *t, const struct hv_hist_spec *s, uint32_t at,
		const struct hv_hist_record *record)
{
	struct hv_hist_value values[HV_HIST_PARAMS_MAX], refs[HV_HIST_VARIABLES_MAX] = {0};
	_Alignas(uint64_t) char texts[HV_HIST_VARIABLES_MAX][HV_HIST_TEXT_BYTES];
	uint8_t entry[4088];

	for (unsigned i = 0; i < s->nr_refs; i++)
		if (!s->refs[i].serial &&
		    !hv_hist_table_read(t, at, s->refs[i].variable, HV_HIST_READ_AGAIN, texts[i],
					&refs[i]))
			abort();
	hv_hist_table_save(t, s, at, record);
	for (unsigned i = 0; i < s->nr_actions; i++) {
		const struct hv_hist_action *a = s->actions[i];

		if (a->handler != HV_HIST_ON_MATCH)
			hv_hist_table_set_number(t, at, a->tracked, refs[a->ref].number);
		for (unsigned j = 0; a->synth && j < a->nr_params; j++)
			values[j] = refs[a->refs[j]];
		if (a->synth)
			hv_synth_fill(a->synth, values, 8, entry, sizeof(entry));
	}
}

/* Each entry's buffer ends exactly at its last byte. */
static void count(struct hv_hist_table *t, const struct hv_hist_spec *s, const struct input *in)
{
	const uint64_t stack[HV_HIST_STACK_MAX] = {7, 8, 9};
	const struct hv_hist_value refs[HV_HIST_VARIABLES_MAX] = {
		{.number = 7}, {.text = "text"}, {.stack = stack}};
	uint8_t key[HV_HIST_KEY_BYTES_MAX];
	char comm[16] = "any";
	uint32_t index;

	for (const uint8_t *at = in->at; at < in->end; at += ENTRY_BYTES) {
		size_t left = (size_t)(in->end - at), len = left < ENTRY_BYTES ? left : ENTRY_BYTES;
		uint8_t *entry = hv_alloc(len);
		struct hv_hist_record record = {{entry, len}, 1, 12345, refs, comm, stack};

		memcpy(entry, at, len);
		hv_hist_spec_key(s, &record, key);
		index = hv_hist_table_add(t, s, key, &record, comm);
		if (index != hv_hist_table_find(t, key, s->key_bytes))
			abort();
		if (index != HV_HIST_NOWHERE)
			act(t, s, index, &record);
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
	hv_hist_table_text(t, s, NULL, &names, &text);
	for (size_t i = 0; i < text.len_bytes; i++)
		if (text.data[i] == '\033')
			abort();
	hv_hist_table_unref(t);
	if (!hv_hist_spec_is_like(s, s))
		abort();
}

/* Checks a definition, its texts, and the text of an entry. */
static void look_at_synth(const char *text, const struct input *in)
{
	const struct hv_print_resolver resolver = {0};
	struct hv_event_field list[HV_SYNTH_FIELDS_MAX] = {0};
	struct hv_event_type type = {.fields = {list, 0}};
	HV_AUTO_TEXT struct hv_text shown = {0};
	struct hv_synth_fault fault;
	struct hv_synth s;

	if (!hv_synth_parse(text, &s, &fault)) {
		if (!fault.code || fault.at > strlen(text))
			abort();
		return;
	}
	for (unsigned i = 0; i < s.nr_fields; i++)
		list[type.fields.nr++] =
			(struct hv_event_field){.name = s.fields[i].name,
						.type = s.fields[i].type,
						.off = 8 + s.fields[i].off,
						.size_bytes = s.fields[i].size_bytes};
	hv_synth_text(&s, &shown);
	hv_synth_print_fmt(&s, ", ", &shown);
	hv_synth_text_add(&shown, &type, (struct hv_span){in->at, (size_t)(in->end - in->at)},
			  HV_SYNTH_WITH_FORMATS, &resolver);
	hv_synth_deinit(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hv_session *session;
	static struct hv_catalogue catalogue = {.types = types,
						.nr = HV_ARRAY_LEN(types),
						.common = {common, HV_ARRAY_LEN(common)}};
	struct hv_hist_scope scope = {&catalogue,
				      &types[0],
				      NULL,
				      next_other,
				      find_synth,
				      add,
				      size && data[size - 1] & 1};
	struct input in = {data, data + size};
	HV_AUTO_FREE char *trigger = next_words(&in, words, HV_ARRAY_LEN(words));
	struct hv_hist_faults faults;
	struct hv_hist_spec s;

	if (!session) {
		session = hv_fake_new();
		hv_fake_site(session, 0xffffffff81000000, "one", NULL, 0);
		types[0].fields = types[1].fields =
			(struct hv_event_fields){fields, HV_ARRAY_LEN(fields)};
		hv_catalogue_index(&catalogue);
		must_define("made s16 v; char a[]; char b[16]", &made);
		scope.type = &types[1];
		if (!hv_hist_spec_parse(&scope, "hist:keys=b:other=c,u=common_timestamp.usecs",
					&other, &faults))
			abort();
		scope.type = &types[0];
	}
	if (!hv_hist_spec_is(trigger)) {
		look_at_synth(trigger, &in);
		return 0;
	}
	if (!hv_hist_spec_parse(&scope, trigger, &s, &faults)) {
		if (!faults.code || (faults.nr && faults.list[faults.nr - 1].at >
							  strlen(trigger) + strlen("hist:")))
			abort();
		return 0;
	}
	if (hv_hist_spec_link(&scope, trigger, &s, &faults))
		look_at(session, &catalogue, &s, &in);
	hv_hist_spec_deinit(&s);
	return 0;
}
