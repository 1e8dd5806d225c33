/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a tracepoint in a fake guest, also in one with corrupt data. */
#include "kernel/events/tracepoint_state.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/events/fake_tracepoint.h"

static struct fk f;
static struct ftp tp;
static struct hv_tracepoint_layout layout;
static struct hv_tracepoint_state state;

static const struct hv_gva_range ours = {{0xffffffff90000000}, {0xffffffff91000000}};

static void set_up(void)
{
	struct hv_err *err;

	fk_init(&f);
	ftp_declare(&tp, &f);
	fk_done(&f);
	ftp_make(&tp);
	state = (struct hv_tracepoint_state){0};
	err = hv_tracepoint_layout_find(&f.k, &layout);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void tear_down(void)
{
	hv_tracepoint_state_deinit(&state);
	fk_deinit(&f);
}

static void read_it(void)
{
	struct hv_err *err =
		hv_tracepoint_state_read(&f.k, &layout, &tp.type.tracepoint, ours, &state);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void fails(int code, const char *words)
{
	struct hv_err *err =
		hv_tracepoint_state_read(&f.k, &layout, &tp.type.tracepoint, ours, &state);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
}

START_TEST(layout_of_the_structures)
{
	ck_assert_uint_eq(layout.callbacks, 16);
	ck_assert_uint_eq(layout.callback_len_bytes, 24);
	ck_assert_uint_eq(layout.data, 8);
	ck_assert_uint_eq(layout.prio, 16);
	ck_assert(layout.has_static_call);
	ck_assert_uint_eq(layout.static_call, 24);
	ck_assert_uint_eq(layout.file_flags, 72);
	ck_assert_uint_eq(layout.file_soft_disabled, 64);
}
END_TEST

START_TEST(a_tracepoint_that_is_off)
{
	read_it();
	ck_assert_uint_eq(state.funcs, 0);
	ck_assert_uint_eq(state.enabled, 0);
	ck_assert_uint_eq(state.static_call, FTP_ITERATOR);
	ck_assert_uint_eq(state.nr_callbacks, 0);
	ck_assert_uint_eq(state.nr_key_sites, FTP_NR - 1); /* without the site in init code */
	for (unsigned i = 0; i < state.nr_key_sites; i++) {
		ck_assert_uint_eq(state.key_sites[i].at.v, FTP_SITE(i));
		ck_assert_uint_eq(state.key_sites[i].target.v, FTP_SITE(i) + FTP_TARGET);
		ck_assert_uint_eq(state.key_sites[i].len_bytes, i == FTP_SHORT ? 2 : 5);
		ck_assert(!state.key_sites[i].jumps);
	}
}
END_TEST

START_TEST(a_tracepoint_that_is_on)
{
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_SITE(0)), hv_gva(FTP_SITE(0) + FTP_TARGET),
					     fk_host(&f, FTP_SITE(0))));
	fk_u32(&f, tp.type.tracepoint.key.v, 2);
	fk_u64(&f, tp.type.tracepoint.funcs.v, tp.array);
	ftp_put_callback(&tp, tp.array, 0, FTP_OTHER, 0x1234);
	ftp_put_callback(&tp, tp.array, 1, FTP_CALLBACK, 0x5678);
	read_it();
	ck_assert_uint_eq(state.funcs, tp.array);
	ck_assert_uint_eq(state.enabled, 2);
	ck_assert_uint_eq(state.nr_callbacks, 2);
	ck_assert_uint_eq(state.callbacks[0].func, FTP_OTHER);
	ck_assert_uint_eq(state.callbacks[1].at.v, tp.array + 24);
	ck_assert_uint_eq(state.callbacks[1].data, 0x5678);
	ck_assert(state.key_sites[0].jumps && !state.key_sites[1].jumps);
}
END_TEST

START_TEST(key_sites_that_cannot_be)
{
	fk_host(&f, FTP_SITE(1))[0] = 0xcc;
	fails(EBUSY, "is changing its code");
	fk_host(&f, FTP_SITE(1))[0] = 0x55;
	fails(EINVAL, "neither a nop nor a jump");
	memcpy(fk_host(&f, FTP_SITE(1)), ftp_nop, sizeof(ftp_nop));
	fk_host(&f, tp.table + 8)[0] |= 1;
	fails(EINVAL, "while the key is off");
}
END_TEST

/* The memory that guest and host share is not RAM of the guest. */
START_TEST(own_arrays_are_not_read)
{
	fk_u64(&f, tp.type.tracepoint.funcs.v, ours.end.v - 8);
	read_it();
	ck_assert_uint_eq(state.funcs, ours.end.v - 8);
	ck_assert_uint_eq(state.nr_callbacks, 0);
	hv_tracepoint_state_deinit(&state);
	fk_u64(&f, tp.type.tracepoint.funcs.v, ours.end.v);
	fails(EFAULT, "nothing is mapped");
}
END_TEST

START_TEST(callbacks_without_end)
{
	uint64_t at = fk_alloc(&f, 64 << 10);

	memset(fk_host(&f, at), 0x5a, 64 << 10);
	fk_u64(&f, tp.type.tracepoint.funcs.v, at);
	fails(E2BIG, "the list does not end after 1024 callbacks");
	fk_u64(&f, tp.type.tracepoint.funcs.v, 0x1000);
	fails(EFAULT, "0x1000");
}
END_TEST

static void replace_array(struct xm *m hv_unused, struct hv_gpa gpa)
{
	uint64_t funcs = tp.type.tracepoint.funcs.v;

	if (fk_is_at(gpa, funcs))
		fk_u64(&f, funcs, *(uint64_t *)fk_host(&f, funcs) ^ tp.array);
}

START_TEST(callbacks_that_the_guest_keeps_replacing)
{
	ftp_put_callback(&tp, tp.array, 0, FTP_OTHER, 0x1234);
	f.machine.after_read = replace_array;
	fails(EBUSY, "the guest is replacing its callbacks; retry");
}
END_TEST

START_TEST(other_instructions_at_call_sites)
{
	struct hv_call_sites calls;

	fk_host(&f, FTP_CALL(1))[0] = 0x55;
	expect_error(hv_call_sites_read(&f.k, &layout.calls, &tp.type.tracepoint, &calls), EINVAL,
		     "0xffffffff81041100 has neither a call nor a jump");
}
END_TEST

/* The kernel links the calls of a module before the module is live. */
START_TEST(a_module_that_is_being_loaded)
{
	uint64_t link = fk_alloc(&f, 24), module = fk_alloc(&f, 8);
	struct hv_call_layout calls = layout.calls;

	calls.table.has_links = true;
	calls.table.link_next = 0;
	calls.table.link_module = 8;
	calls.module_state = 4;
	fk_u64(&f, tp.static_call + 8, link);
	fk_u64(&f, link + 8, module);
	expect_success(hv_call_sites_check_modules(&f.k, &calls, &tp.type.tracepoint));
	fk_u32(&f, module + 4, 1);
	expect_error(hv_call_sites_check_modules(&f.k, &calls, &tp.type.tracepoint), EBUSY,
		     "a module that calls it is being loaded");
}
END_TEST

START_TEST(held_locks_are_reported)
{
	const char *name = "";

	ck_assert_ptr_null(hv_tracepoints_locked(&f.k, &layout, &name));
	ck_assert_ptr_null(name);
	fk_u64(&f, tp.locks[_i], 0xffff888000000001);
	ck_assert_ptr_null(hv_tracepoints_locked(&f.k, &layout, &name));
	ck_assert_ptr_nonnull(name);
	if (_i == 4)
		ck_assert_str_eq(name, "text_mutex");
}
END_TEST

START_TEST(old_kernels_have_no_static_calls)
{
	const char *lock = NULL;

	fk_deinit(&f);
	fk_init(&f);
	ftp_declare_as(&tp, &f, true);
	fk_done(&f);
	ftp_make(&tp);
	layout = (struct hv_tracepoint_layout){0};
	ck_assert_ptr_null(hv_tracepoint_layout_find(&f.k, &layout));
	ck_assert(!layout.has_static_call && !layout.has_iterators);
	ck_assert_uint_eq(layout.nr_locks, 4);
	read_it();
	ck_assert_uint_eq(state.static_call_at.v, 0);
	ck_assert_uint_eq(state.nr_key_sites, FTP_INIT);
	fk_u64(&f, tp.locks[4], 1);
	ck_assert_ptr_null(hv_tracepoints_locked(&f.k, &layout, &lock));
	ck_assert_str_eq(lock, "text_mutex");
	/* A kernel with iterators has the member. */
	fk_symbol(&f, "__traceiter_sched_switch", FTP_ITERATOR);
	hv_symbols_index(&f.k.core.symbols);
	{
		HV_AUTO_ERR struct hv_err *err = hv_tracepoint_layout_find(&f.k, &layout);

		ck_assert(err && strstr(err->message, "no member iterator in struct tracepoint"));
	}
}
END_TEST

/* Linux 4.19: another function without effect takes the place of tp_stub_func(). */
START_TEST(kernels_without_a_stub_function)
{
	static const char empty[] = "\x0f\x1f\x44\x00\x00\xc3"; /* the site; ret */
	struct hv_symbols *s = &f.k.core.symbols;
	HV_AUTO_ERR struct hv_err *err = NULL;

	ck_assert_uint_eq(layout.stub_func.v, FTP_STUB_FUNC);
	ck_assert(layout.drops_stub);
	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->by_addr[i].name, "tp_stub_func"))
			s->by_addr[i].name = "clockevents_handle_noop";
	hv_symbols_index(s);
	memcpy(fk_host(&f, FTP_STUB_FUNC), empty, sizeof(empty) - 1);
	ck_assert_ptr_null(hv_tracepoint_layout_find(&f.k, &layout));
	ck_assert_uint_eq(layout.stub_func.v, FTP_STUB_FUNC);
	ck_assert(!layout.drops_stub);
	fk_host(&f, FTP_STUB_FUNC)[5] = 0x90; /* not empty */
	err = hv_tracepoint_layout_find(&f.k, &layout);
	ck_assert(err && strstr(err->message, "kernel has no symbol tp_stub_func"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, layout_of_the_structures);
	tcase_add_test(tc, old_kernels_have_no_static_calls);
	tcase_add_test(tc, kernels_without_a_stub_function);
	tcase_add_test(tc, a_tracepoint_that_is_off);
	tcase_add_test(tc, a_tracepoint_that_is_on);
	tcase_add_test(tc, key_sites_that_cannot_be);
	tcase_add_test(tc, own_arrays_are_not_read);
	tcase_add_test(tc, callbacks_without_end);
	tcase_add_test(tc, callbacks_that_the_guest_keeps_replacing);
	tcase_add_test(tc, other_instructions_at_call_sites);
	tcase_add_test(tc, a_module_that_is_being_loaded);
	tcase_add_loop_test(tc, held_locks_are_reported, 0, 5);
}

int main(void)
{
	return run_suite("tracepoint_state", add_tests);
}
