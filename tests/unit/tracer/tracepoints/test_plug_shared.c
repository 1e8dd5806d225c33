/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugs an event into a tracepoint that shares its state with others: a count of system calls, or a
 * common static key. Tracepoints with another registration function are refused. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/tracepoints/fake_plug.h"

/* Makes the tracepoint one of system calls. OTHER is the address of the other one. */
static void be_of_syscalls(uint64_t count, uint64_t other)
{
	struct hv_tracepoint *p = &tp.type.tracepoint;

	p->reg = hv_gva(FTP_OTHER);
	p->unreg = hv_gva(FTP_OTHER + 0x10);
	layout.has_syscalls = true;
	layout.syscalls = (struct hv_syscall_work){.reg = p->reg,
						   .unreg = p->unreg,
						   .count = hv_gva(count),
						   .tracepoints = {p->at, hv_gva(other)}};
}

START_TEST(system_calls_are_counted_as_the_kernel_does)
{
	uint64_t count = fk_alloc(f, 16), other = fk_alloc(f, FTP_LEN);

	be_of_syscalls(count, other);
	fk_u32(f, count + 4, 77);
	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, FP_NR_CHANGES + 1);
	ck_assert_uint_eq(fp_word_at(count), 1 | 77ull << 32);
	fp_apply(false, FP_NR_CHANGES + 1);
	ck_assert_uint_eq(fp_word_at(count), 77ull << 32);
	fp_check_off();
	fk_u32(f, other + layout.key, 1);
	fp_fails(true, EINVAL, "its tracepoint is off, and the kernel counts 0 of 1");
	fk_u32(f, count, 1); /* the guest's own */
	fp_apply(true, FP_NR_CHANGES + 1);
	ck_assert_uint_eq((uint32_t)fp_word_at(count), 2);
	fk_u32(f, other + layout.key, 0); /* the guest's was removed */
	fk_u32(f, count, 1);
	fp_apply(false, FP_NR_CHANGES + 1);
	ck_assert_uint_eq((uint32_t)fp_word_at(count), 0);
	fp_check_off();
	fk_u32(f, other + layout.key, 1);
	fk_u32(f, count, 1);
	fp_apply(true, FP_NR_CHANGES + 1);
	fp_guest_has(1); /* the guest's callback keeps it enabled */
	fp_apply(false, 1);
	ck_assert_uint_eq((uint32_t)fp_word_at(count), 2);
}
END_TEST

START_TEST(a_count_that_contradicts_the_guests_callback)
{
	uint64_t count = fk_alloc(f, 16), other = fk_alloc(f, FTP_LEN);

	be_of_syscalls(count, other);
	fp_guest_is_on(1);
	fp_fails(true, EINVAL, "its tracepoint is on, and the kernel counts 0 of 1");
	fk_u32(f, count, 1);
	fp_apply(true, FTP_NR_CALLS + 1);
}
END_TEST

/* Gives the tracepoint a key in common with OTHER, which gets the site that was in init code.
 * Returns the key. */
static uint64_t have_common_key(uint64_t other)
{
	uint64_t key = fk_alloc(f, 16), entry = tp.table + FTP_INIT * 16;
	struct hv_tracepoint *p = &tp.type.tracepoint;

	p->reg = hv_gva(FTP_OTHER);
	p->unreg = hv_gva(FTP_OTHER + 0x10);
	layout.has_common = true;
	layout.common = (struct hv_common_key){.reg = p->reg,
					       .unreg = p->unreg,
					       .key = hv_gva(key),
					       .tracepoints = {p->at, hv_gva(other)}};
	fk_u64(f, key + 8, entry);
	fk_u64(f, entry + 8, key - (entry + 8));
	memcpy(fk_host(f, FTP_SITE(FTP_INIT)), ftp_nop, sizeof(ftp_nop));
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	return key;
}

START_TEST(a_shared_key_is_on_while_any_event_is)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);

	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, FP_NR_CHANGES + 2);
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 1);
	ck_assert(fp_jumps(0) && fp_jumps(FTP_INIT));
	fp_apply(false, FP_NR_CHANGES + 2);
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 0);
	fp_check_off();
	fk_u32(f, other + layout.key, 1);
	fp_fails(true, EINVAL, "the kernel counts 0 of 1");
	fk_u32(f, key, 1);
	fp_fails(true, EINVAL, "does not jump");
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_SITE(FTP_INIT)),
					     hv_gva(FTP_SITE(FTP_INIT) + FTP_TARGET),
					     fk_host(f, FTP_SITE(FTP_INIT))));
	fp_apply(true, FP_NR_CHANGES + 1); /* the other one has enabled it */
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 2);
	fp_apply(false, FP_NR_CHANGES + 1);
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 1);
	ck_assert(!fp_jumps(0) && fp_jumps(FTP_INIT));
}
END_TEST

START_TEST(a_shared_key_goes_off_with_the_last)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);

	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, FP_NR_CHANGES + 2);
	fk_u32(f, other + layout.key, 1); /* the guest's event comes, and goes after hvtrace's */
	fk_u32(f, key, 2);
	fp_apply(false, FP_NR_CHANGES + 1);
	ck_assert(!fp_jumps(0) && fp_jumps(FTP_INIT));
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 1);
	fp_apply(true, FP_NR_CHANGES + 1);
	fk_u32(f, other + layout.key, 0);
	fk_u32(f, key, 1);
	fp_apply(false, FP_NR_CHANGES + 2); /* the bytes from before the first time are used */
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 0);
	fp_check_off();
	memcpy(fk_host(f, FTP_SITE(FTP_INIT)), "\xeb\x3e", 2);
	fp_fails(true, EINVAL, "is off, and");
}
END_TEST

/* hvtrace never wrote the key's sites. One of them is shorter than the tracepoint's. */
START_TEST(a_shared_key_the_guest_had_enabled)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);
	uint64_t entry = tp.table + FTP_SHORT * 16;

	fk_u64(f, key + 8, entry);
	fk_u64(f, entry + 8, key - (entry + 8));
	fk_u32(f, other + layout.key, 1);
	fk_u32(f, key, 1);
	memcpy(fk_host(f, FTP_SITE(FTP_SHORT)), "\xeb\x3e", 2);
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_SITE(FTP_INIT)),
					     hv_gva(FTP_SITE(FTP_INIT) + FTP_TARGET),
					     fk_host(f, FTP_SITE(FTP_INIT))));
	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, FP_NR_CHANGES);
	fk_u32(f, other + layout.key, 0);
	fk_u32(f, key, 1);
	fp_apply(false, FP_NR_CHANGES + 2);
	ck_assert_uint_eq((uint32_t)fp_word_at(key), 0);
	fp_check_off();
}
END_TEST

/* _i % 2: another tracepoint with the key is enabled. */
START_TEST(killed_with_a_shared_key)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);
	unsigned is_on = (unsigned)_i % 2;

	if (is_on) {
		fk_u32(f, other + layout.key, 1);
		fk_u32(f, key, 1);
		ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_SITE(FTP_INIT)),
						     hv_gva(FTP_SITE(FTP_INIT) + FTP_TARGET),
						     fk_host(f, FTP_SITE(FTP_INIT))));
		memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	}
	fp_kill_after((unsigned)_i / 2, FP_NR_CHANGES + 2 - is_on);
	ck_assert_uint_eq((uint32_t)fp_word_at(key), is_on);
}
END_TEST

static void refused(const char *words)
{
	struct hv_err *err = hv_plug_check(&f->k, &layout, &tp.type);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == EOPNOTSUPP && strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
	fp_fails(true, EOPNOTSUPP, words);
}

START_TEST(refusals_have_a_reason)
{
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	tp.type.tracepoint.reg = hv_gva(FTP_STUB_FUNC);
	refused("with a special function, tp_stub_func");
	tp.type.tracepoint.reg = hv_gva(FTP_OTHER);
	refused("with a special function");
	tp.type.tracepoint.reg = hv_gva(0);
	tp.type.reg_kind = HV_EVENT_REG_OTHER;
	refused("with a special function");
	tp.type.reg_kind = HV_EVENT_REG_PROBESTUB;
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	tp.type.reg_kind = HV_EVENT_REG_TRACEPOINT;
	be_of_syscalls(fk_alloc(f, 16), fk_alloc(f, FTP_LEN));
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	layout.has_syscalls = false;
	refused("with a special function");
	have_common_key(fk_alloc(f, FTP_LEN));
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	layout.common.tracepoints[0] = layout.common.tracepoints[1]; /* an unrelated one */
	refused("with a special function");
	tp.type.tracepoint.reg = tp.type.tracepoint.unreg = hv_gva(0);
	layout.file_flags = 121;
	refused("unknown layout of this kernel's callbacks");
	layout.file_flags = 72;
	layout.callback_len_bytes = 128;
	refused("unknown layout of this kernel's callbacks");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, fp_set_up, fp_tear_down);
	tcase_add_test(tc, a_count_that_contradicts_the_guests_callback);
	tcase_add_test(tc, system_calls_are_counted_as_the_kernel_does);
	tcase_add_test(tc, a_shared_key_is_on_while_any_event_is);
	tcase_add_test(tc, a_shared_key_goes_off_with_the_last);
	tcase_add_test(tc, a_shared_key_the_guest_had_enabled);
	tcase_add_loop_test(tc, killed_with_a_shared_key, 0, 4 * (FP_NR_CHANGES + 3));
	tcase_add_test(tc, refusals_have_a_reason);
}

int main(void)
{
	return run_suite("plug_shared", add_tests);
}
