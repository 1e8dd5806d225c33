/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a section's calls and its stack from a ring, also from corrupt rings. */
#include "tracer/sections/section_tracer.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "ringbuf/ring.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decoder.h"

#define NR_SLOTS 64
#define TEXT	 UINT64_C(0xffffffff81000000)
#define PLACE	 0x80410000u /* of a detour */
#define SITE	 (TEXT + 0x777)
#define SELF	 7 /* the task in the section */
#define MODULE	 UINT64_C(0xffffffffc0000000)
#define FUNCTION (MODULE + 0x100)

static struct {
	struct hv_state state;
	struct hv_record records[NR_SLOTS];
} vcpu;
static struct hv_kernel kernel;
static struct hv_decoder *decoder;
static struct hv_section section;
static struct hv_sections kept;

static bool find_detoured(void *ctx, uint32_t probe_site, struct hv_gva *ret)
{
	(void)ctx;
	*ret = hv_gva(SITE);
	return probe_site == PLACE;
}

static void set_up(void)
{
	static const struct hv_hold_stat holds;
	static const struct hv_gva_range trampolines;
	struct hv_clock *clock;

	kernel = (struct hv_kernel){.core.as.arch = &hv_arch_x86_64};
	ck_assert_ptr_null(hv_clock_new(&kernel, &clock));
	decoder = hv_decoder_new(&kernel, hv_clocks_new(clock, NULL, &kernel, &holds),
				 hv_names_new(&kernel), hv_callers_new(&kernel, &trampolines));
	decoder->decode.find_detoured = find_detoured;
	memset(&vcpu, 0, sizeof(vcpu));
	vcpu.state.head = hv_ring_head_at(0, NR_SLOTS);
	section = (struct hv_section){.nr_refs = 1, .to = {.pid = SELF, .comm = "cat"}};
	kept = (struct hv_sections){.from_head = vcpu.state.head};
}

static void tear_down(void)
{
	free(section.calls);
	free(section.callers);
	hv_callers_free(decoder->callers);
	hv_names_free(decoder->names);
	hv_clocks_free(decoder->clocks);
	hv_decoder_free(decoder);
}

/* Adds a record by PID: a call of TEXT + OFF, or an end of a section in the detour PLACE. */
static void add(unsigned kind, uint32_t pid, uint64_t off, unsigned number)
{
	static const char comm[16] = "dd";
	uint64_t position = vcpu.state.head / sizeof(struct hv_record) - NR_SLOTS;
	uint64_t key = hv_record_key(position, NR_SLOTS);
	bool is_call = kind == HV_RECORD_FUNCTION;
	uint64_t site_end = is_call ? TEXT + off + 5 : UINT64_C(0xffffffff00000000) | PLACE;
	struct hv_record r = {{position, site_end ^ TEXT << HV_CALLER_SHIFT,
			       (uint64_t)pid << HV_CALL_PID_SHIFT,
			       (uint64_t)kind << HV_RECORD_KIND_SHIFT |
				       (uint64_t)number << HV_RECORD_DEPTH_SHIFT}};

	if (kind == HV_RECORD_TASK)
		r = hv_encode_task(position, pid, pid, comm);
	for (unsigned i = 0; i < 4; i++)
		vcpu.records[position % NR_SLOTS].word[i] = r.word[i] ^ key;
	vcpu.state.head += sizeof(struct hv_record);
}

static void read_calls(hv_section_wants wants)
{
	const struct hv_section_ring ring = {decoder, &vcpu.state, NR_SLOTS, 1};

	kept.to_head = vcpu.state.head;
	hv_section_log_calls(&ring, &kept, wants, NULL, &section);
}

static bool not_of_dd(void *ctx, const struct hv_event *call)
{
	(void)ctx;
	return call->pid == SELF;
}

/* Only calls are read from the ring. Calls of the section's task have the section's name for it. */
START_TEST(calls_of_a_section)
{
	add(HV_RECORD_SECTION, SELF, 0, 0);
	add(HV_RECORD_FUNCTION, SELF, 0x100, 0);
	add(HV_RECORD_TASK, 9, 0, 0);
	add(HV_RECORD_FUNCTION, 9, 0x200, 0);
	add(HV_RECORD_MARK, 0, 0, 0);
	read_calls(NULL);
	ck_assert_uint_eq(section.nr_calls, 2);
	ck_assert_uint_eq(section.nr_lost, 0);
	ck_assert_uint_eq(section.calls[0].ip.v, TEXT + 0x100);
	ck_assert_str_eq(section.calls[0].comm, "cat");
	ck_assert_uint_eq(section.calls[0].cpu, 1);
	ck_assert_uint_eq(section.calls[1].ip.v, TEXT + 0x200);
	ck_assert_str_eq(section.calls[1].comm, "dd");
	free(section.calls);
	section.nr_calls = 0;
	read_calls(not_of_dd);
	ck_assert_uint_eq(section.nr_calls, 1);
}
END_TEST

/* Calls and returns of a graph, in the order of the ring. */
START_TEST(a_graph_in_a_section)
{
	add(HV_RECORD_ENTRY, SELF, 0, 0);
	add(HV_RECORD_ENTRY, SELF, 0, 1);
	add(HV_RECORD_EXIT, SELF, 0, 1);
	read_calls(NULL);
	ck_assert_uint_eq(section.nr_calls, 3);
	ck_assert_uint_eq(section.calls[0].kind, HV_EVENT_GRAPH_ENTRY);
	ck_assert_uint_eq(section.calls[1].depth, 1);
	ck_assert_uint_eq(section.calls[2].kind, HV_EVENT_GRAPH_EXIT);
	ck_assert_uint_eq(section.calls[2].depth, 1);
	ck_assert_str_eq(section.calls[1].comm, "cat");
	ck_assert_uint_le(section.calls[2].call_ns, section.calls[2].time_ns);
}
END_TEST

START_TEST(losses_are_counted)
{
	for (unsigned i = 0; i < 2 * NR_SLOTS; i++)
		add(HV_RECORD_FUNCTION, SELF, 16 * i, 0);
	vcpu.records[NR_SLOTS - 1].word[2] ^= HV_RECORD_ZEROS; /* torn */
	read_calls(NULL);
	ck_assert_uint_eq(section.nr_calls, NR_SLOTS - 1);
	ck_assert_uint_eq(section.nr_lost, NR_SLOTS + 1);
	ck_assert_uint_eq(section.calls[0].ip.v, TEXT + 16 * NR_SLOTS);
}
END_TEST

/* Heads that the ring cannot have had. */
START_TEST(impossible_heads_are_bounded)
{
	const struct hv_section_ring ring = {decoder, &vcpu.state, NR_SLOTS, 1};
	const uint64_t heads[][2] = {{2000, 1000},
				     {0, UINT64_MAX},
				     {UINT64_MAX, 0},
				     {UINT64_MAX / 2, UINT64_MAX / 2 + 3200},
				     {1u << 20, 1u << 21}};

	add(HV_RECORD_FUNCTION, SELF, 0x100, 0);
	for (size_t i = 0; i < HV_ARRAY_LEN(heads); i++) {
		kept.from_head = heads[i][0];
		kept.to_head = heads[i][1];
		hv_section_log_calls(&ring, &kept, NULL, NULL, &section);
		ck_assert_uint_eq(section.nr_calls, 0);
		free(section.calls);
		section.calls = NULL;
		hv_section_log_stack(&ring, &kept, &section);
		ck_assert_uint_eq(section.nr_callers, 0);
	}
}
END_TEST

/* A stack belongs to the section only if it is marked so and complete. Without the kernel's tables
 * it has no callers. */
START_TEST(the_stack_at_the_end)
{
	const struct hv_section_ring ring = {decoder, &vcpu.state, NR_SLOTS, 1};
	unsigned own = 3u << (HV_STACK_SECTION_BIT - HV_RECORD_DEPTH_SHIFT);

	kept.to_head = vcpu.state.head;
	add(HV_RECORD_FUNCTION, SELF, 0x100, 0); /* of an interrupt */
	add(HV_RECORD_STACK, SELF, 0, 0);	 /* of another tracer */
	ck_assert_ptr_null(section.callers);
	hv_section_log_stack(&ring, &kept, &section);
	ck_assert_ptr_null(section.callers);
	add(HV_RECORD_STACK, SELF, 0, own); /* without its words */
	hv_section_log_stack(&ring, &kept, &section);
	ck_assert_ptr_null(section.callers);
}
END_TEST

/* Loads a module with one function, which replaces the previous module at its address. */
static void load(const char *module, const char *function)
{
	static struct hv_symbol symbol;
	static struct hv_module loaded;

	symbol = (struct hv_symbol){hv_gva(FUNCTION), function, 'T'};
	loaded = (struct hv_module){.text = {hv_gva(MODULE), hv_gva(MODULE + 0x1000)},
				    .symbols = {.by_addr = &symbol, .nr = 1}};
	snprintf(loaded.name, sizeof(loaded.name), "%s", module);
	kernel.modules = (struct hv_modules){&loaded, 1};
	kernel.text = (struct hv_gva_range){hv_gva(TEXT), hv_gva(TEXT + 0x100000)};
}

/* Names stay as they were when the section was recorded. */
START_TEST(a_section_keeps_its_names)
{
	struct hv_section *s = hv_alloc(sizeof(*s));
	const struct hv_section_name *name;

	*s = (struct hv_section){.nr_refs = 1, .from.ip = hv_gva(FUNCTION + 0x10), .nr_calls = 1};
	s->from.parent_ip = hv_gva(TEXT + 0x100);
	s->to.ip = s->from.ip;
	s->calls = hv_alloc(sizeof(*s->calls));
	s->calls[0] = (struct hv_event){.ip = hv_gva(MODULE + 0x2000)};
	load("planted", "plant");
	hv_section_keep_names(s, &kernel);
	load("dummy", "setup");
	ck_assert_uint_eq(s->nr_names, 2);
	name = hv_section_name_at(s, s->to.ip);
	ck_assert_ptr_nonnull(name);
	ck_assert_str_eq(name->name, "plant");
	ck_assert_str_eq(name->module, "planted");
	ck_assert_uint_eq(name->off, 0x10);
	name = hv_section_name_at(s, s->calls[0].ip); /* of no module */
	ck_assert_ptr_nonnull(name);
	ck_assert_ptr_null(name->name);
	ck_assert_ptr_null(hv_section_name_at(s, s->from.parent_ip)); /* the core kernel stays */
	hv_section_unref(s);
	kernel.modules = (struct hv_modules){NULL, 0};
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, calls_of_a_section);
	tcase_add_test(tc, a_graph_in_a_section);
	tcase_add_test(tc, losses_are_counted);
	tcase_add_test(tc, impossible_heads_are_bounded);
	tcase_add_test(tc, the_stack_at_the_end);
	tcase_add_test(tc, a_section_keeps_its_names);
}

int main(void)
{
	return run_suite("section_log", add_tests);
}
