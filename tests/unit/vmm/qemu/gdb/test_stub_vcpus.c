/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vCPUs that are added and removed between holds, with a gdb stub that answers like QEMU 7.2's: one
 * thread per packet, and E22 for a vCPU that does not exist. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/guest.h"
#include "vmm/qemu/gdb/stub_vcpus.h"

#define CPUS_MAX 8
#define ROOT	 0x1000 /* thread N has N times this value */

static struct {
	unsigned ids[CPUS_MAX]; /* "01" is QEMU's CPU 0 */
	unsigned nr;
	unsigned listed;
	unsigned selected;
	unsigned nr_exchanges;
	unsigned nr_roots_written;
	char watched[32]; /* the last watchpoint that was set */
	unsigned nr_watched, nr_unwatched;
	const char *registers;			       /* NULL: valid ones */
	const char *root;			       /* value of the root's register */
	const char *hypervisor_root, *hypervisor_bits; /* NULL: the CPU lacks them */
	const char *description;		       /* of the system registers; may be NULL */
	const char *list; /* the answer instead of a thread's name; may be NULL */
} stub;

static struct hv_stub_vcpus vcpus;

static void answer_threads(char *to, size_t room)
{
	if (stub.list)
		snprintf(to, room, "%s", stub.list);
	else if (stub.listed < stub.nr)
		snprintf(to, room, "m%02x", stub.ids[stub.listed++]);
	else
		snprintf(to, room, "l");
}

static bool select_cpu(const char *packet)
{
	unsigned id;

	if (sscanf(packet, "Hg%x", &id) != 1)
		return false;
	for (unsigned i = 0; i < stub.nr; i++)
		if (stub.ids[i] == id)
			stub.selected = id;
	return stub.selected == id;
}

/* Sends a file of the description in parts of 100 bytes. */
static void describe(const char *packet, char *to, size_t room)
{
	static const char target[] = "<target><xi:include href=\"core.xml\"/>"
				     "<xi:include href=\"system-registers.xml\"/></target>";
	static const char core[] =
		"<feature><reg name=\"first\" bitsize=\"64\"/>"
		"<reg name=\"twentieth\" bitsize=\"64\" regnum=\"20\"/></feature>";
	const char *text = stub.description;
	unsigned off = 0;
	char file[32];
	size_t left;

	ck_assert_int_eq(sscanf(packet, "qXfer:features:read:%31[^:]:%x,", file, &off), 2);
	if (!strcmp(file, "target.xml"))
		text = target;
	else if (!strcmp(file, "core.xml"))
		text = core;
	if (!text) {
		snprintf(to, room, "E00");
		return;
	}
	ck_assert_uint_le(off, strlen(text));
	left = strlen(text) - off;
	snprintf(to, room, "%c%.100s", left > 100 ? 'm' : 'l', text + off);
}

/* On riscv64, register 21 is the mode: machine mode on the first vCPU. */
static const char *value_of(const char *packet)
{
	if (!strcmp(packet, "p15"))
		return stub.selected == 1 ? "0300000000000000" : "0100000000000000";
	if (!strcmp(packet, "pa0") && stub.hypervisor_root)
		return stub.hypervisor_root;
	if (!strcmp(packet, "pa1") && stub.hypervisor_bits)
		return stub.hypervisor_bits;
	return strcmp(packet, "p9f") ? "E22" : stub.root;
}

/* All 0 except the address of the next instruction, which is the thread's number. arm64 and riscv64
 * have it at the same offset. */
static void answer_registers(char *to)
{
	unsigned off = vcpus.arch->take_gdb_named ? 256 : 128;

	memset(to, '0', 2 * 268);
	to[2 * 268] = '\0';
	to[2 * off] = "0123456789abcdef"[stub.selected >> 4];
	to[2 * off + 1] = "0123456789abcdef"[stub.selected & 15];
}

static void answer(const char *packet, char *to, size_t room)
{
	if (packet[0] == 'q' && strstr(packet, "qXfer")) {
		describe(packet, to, room);
		return;
	}
	if (packet[0] == 'Z') {
		stub.nr_watched++;
		snprintf(stub.watched, sizeof(stub.watched), "%s", packet + 1);
	}
	if (packet[0] == 'z' && !strcmp(stub.watched, packet + 1))
		stub.nr_unwatched++;
	if (packet[0] == 'g' && !stub.registers) {
		answer_registers(to);
		return;
	}
	if (!strcmp(packet, "qfThreadInfo"))
		stub.listed = 0;
	if (strstr(packet, "ThreadInfo"))
		answer_threads(to, room);
	else if (packet[0] == 'H')
		snprintf(to, room, select_cpu(packet) ? "OK" : "E22");
	else if (packet[0] == 'g')
		snprintf(to, room, "%s", stub.registers);
	else if (packet[0] == 'p' && stub.root && !vcpus.arch->take_gdb_named)
		snprintf(to, room, "%s", stub.root);
	else if (packet[0] == 'p' && vcpus.arch->take_gdb_named)
		snprintf(to, room, "%s", value_of(packet));
	else if (packet[0] == 'p')
		snprintf(to, room, "%016x", stub.selected * ROOT);
	else
		snprintf(to, room, "OK");
	if (packet[0] == 'P')
		stub.nr_roots_written++;
}

static struct hv_err *exchange(void *ctx hv_unused, const struct hv_packets *packets,
			       struct hv_packets *answers)
{
	const char *packet = packets->bytes.data;

	stub.nr_exchanges++;
	for (size_t i = 0; i < packets->nr; i++) {
		char said[1024];

		answer(packet, said, sizeof(said));
		hv_packets_add(answers, said);
		packet += strlen(packet) + 1;
	}
	return NULL;
}

static void setup(void)
{
	memset(&stub, 0, sizeof(stub));
	vcpus = (struct hv_stub_vcpus){.exchange = exchange, .arch = hv_arch_find("x86_64")};
	stub.ids[0] = 1;
	stub.ids[1] = 2;
	stub.nr = 2;
}

static void teardown(void)
{
	hv_stub_vcpus_deinit(&vcpus);
}

/* Reads the registers and expects two vCPUs. The caller frees the result. */
static struct hv_vcpu_regs *look(unsigned nr)
{
	struct hv_vcpu_regs *regs = NULL;
	unsigned found = 0;
	struct hv_err *err = hv_stub_vcpus_look(&vcpus, 2, &regs, &found);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(found, nr);
	return regs;
}

static void count(unsigned nr)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = look(nr);

	for (unsigned i = 0; i < nr; i++)
		ck_assert_uint_eq(regs[i].ip.v, stub.ids[i]);
}

static void flush(unsigned nr)
{
	struct hv_err *err;

	stub.nr_roots_written = 0;
	err = hv_stub_vcpus_flush(&vcpus);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(stub.nr_roots_written, nr);
}

START_TEST(registers_are_requested_with_the_list)
{
	count(2);
	ck_assert_uint_eq(stub.nr_exchanges, 2);
	/* Registers are requested together with the list, for the vCPUs of the last hold. */
	count(2);
	ck_assert_uint_eq(stub.nr_exchanges, 3);
	flush(2);
}
END_TEST

START_TEST(plugged)
{
	count(2);
	stub.ids[2] = 5;
	stub.ids[3] = 4;
	stub.nr = 4;
	count(4);
	ck_assert_str_eq(vcpus.names[2], "05");
	flush(4);
	count(4);
}
END_TEST

START_TEST(unplugged)
{
	stub.ids[2] = 3;
	stub.nr = 3;
	count(3);
	stub.ids[1] = 3;
	stub.nr = 2;
	count(2);
	ck_assert_str_eq(vcpus.names[1], "03");
	flush(2);
}
END_TEST

/* The vCPU that QEMU has selected must not be one that can be unplugged. */
START_TEST(first_is_selected_last)
{
	count(2);
	flush(2);
	ck_assert_uint_eq(stub.selected, 1);
}
END_TEST

/* The last two lists never end. Names that would end a packet are refused. */
START_TEST(bad_lists)
{
	static const struct {
		const char *list;
		const char *message;
	} rows[] = {
		{"", "gdb stub: '' is not a list of vCPUs"},
		{"E22", "gdb stub: 'E22' is not a list of vCPUs"},
		{"l", "gdb stub: it lists no vCPUs"},
		{"m,", "gdb stub: 'm,' is not a list of vCPUs"},
		{"OK", "gdb stub: 'OK' is not a list of vCPUs"},
		{"m01,$c#63", "gdb stub: 'm01,$c#63' is not a list of vCPUs"},
		{"m0123456789abcdef0123456789abcdef0123456789abcdef",
		 "gdb stub: 'm0123456789abcdef0123456789abcdef0123456' is not a list of vCPUs"},
		{"m01", "gdb stub: 'm01' is not a list of vCPUs"},
		{"m", "gdb stub: 'm' is not a list of vCPUs"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		struct hv_vcpu_regs *regs = NULL;
		unsigned nr = 0;

		stub.list = rows[i].list;
		expect_error(hv_stub_vcpus_look(&vcpus, UINT32_MAX, &regs, &nr), EPROTO,
			     rows[i].message);
		ck_assert_ptr_null(regs);
		ck_assert_uint_eq(vcpus.nr, 0);
	}
	stub.list = NULL;
	count(2);
}
END_TEST

/* There is no vCPU to select. */
START_TEST(a_flush_without_a_list)
{
	expect_error(hv_stub_vcpus_flush(&vcpus), EPROTO, "gdb stub: no vCPUs were listed");
}
END_TEST

START_TEST(registers_that_are_too_few)
{
	struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;

	stub.registers = "0000";
	expect_error(hv_stub_vcpus_look(&vcpus, 2, &regs, &nr), EPROTO,
		     "gdb stub: registers of vCPU 0 are not understood (2 bytes)");
	stub.registers = NULL;
	count(2);
	stub.root = "E22";
	expect_error(hv_stub_vcpus_flush(&vcpus), EPROTO,
		     "gdb stub: the root register of vCPU 0 is 'E22'");
	ck_assert_uint_eq(stub.nr_roots_written, 0);
}
END_TEST

static const char *one_answer; /* to every packet */
static size_t nr_answers;      /* per exchange; 0: one per packet */

static struct hv_err *exchange_for_one(void *ctx hv_unused, const struct hv_packets *packets,
				       struct hv_packets *answers)
{
	for (size_t i = 0; i < (nr_answers ? nr_answers : packets->nr); i++)
		hv_packets_add(answers, one_answer);
	return NULL;
}

START_TEST(too_few_answers)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;

	vcpus.exchange = exchange_for_one;
	one_answer = "m01";
	nr_answers = 1;
	err = hv_stub_vcpus_look(&vcpus, 2, &regs, &nr);
	ck_assert(err && err->code == EPROTO);
	ck_assert_str_eq(err->message, "gdb stub: 1 answers for 3 packets");
	ck_assert_ptr_null(regs);
}
END_TEST

/* One answer lists too many vCPUs. */
START_TEST(too_many_vcpus)
{
	HV_AUTO_TEXT struct hv_text list = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;

	hv_text_add(&list, "m1");
	for (unsigned i = 1; i <= HV_VCPUS_MAX; i++)
		hv_text_printf(&list, ",%x", i);
	vcpus.exchange = exchange_for_one;
	one_answer = list.data;
	nr_answers = 0;
	err = hv_stub_vcpus_look(&vcpus, 1, &regs, &nr);
	ck_assert(err && err->code == EPROTO);
	ck_assert_ptr_null(regs);
}
END_TEST

#define TAG(name, number)                                                                          \
	"<reg name=\"" name "\" bitsize=\"64\" regnum=\"" number "\" group=\"cp_regs\"/>"

static void of_arm64(void)
{
	vcpus.arch = hv_arch_find("aarch64");
	stub.root = "00a0004100000000";
	stub.description = "<feature name=\"org.qemu.gdb.arm.sys.regs\">" TAG("TTBR1_EL12", "157")
		TAG("TCR_EL1", "158") TAG("TTBR1_EL1", "159") TAG("VBAR", "160") "</feature>";
}

START_TEST(the_root_has_a_name)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err;

	of_arm64();
	err = hv_stub_vcpus_describe(&vcpus, vcpus.arch);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(vcpus.named_registers[0], 159);
	regs = look(2);
	ck_assert_uint_eq(regs[0].root, 0x4100a000);
	ck_assert_uint_eq(regs[1].root, 0x4100a000);
}
END_TEST

/* If there is EL2, the kernel may run there. */
START_TEST(the_root_of_a_hypervisor)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err;

	of_arm64();
	stub.description = "<feature>" TAG("HCR_EL2", "161") TAG("TTBR1_EL1", "159")
		TAG("TTBR1_EL2", "160") "</feature>";
	stub.hypervisor_root = "0120a94100003a00";
	stub.hypervisor_bits = "0000008804000000";
	err = hv_stub_vcpus_describe(&vcpus, vcpus.arch);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	regs = look(2);
	ck_assert_uint_eq(regs[0].root, 0x3a000041a92001);
	ck_assert_uint_eq(regs[1].root, 0x3a000041a92001);
	ck_assert_int_eq(regs[1].hidden, HV_HIDDEN_NO);
	stub.hypervisor_bits = "0100008004000000"; /* the kernel's guest executes in EL0 */
	free(regs);
	regs = look(2);
	ck_assert_int_eq(regs[0].hidden, HV_HIDDEN_YES);
}
END_TEST

static void of_riscv64(const char *satp)
{
	vcpus.arch = hv_arch_find("riscv64");
	stub.root = satp;
	stub.description = "<feature><reg name=\"priv\" bitsize=\"64\"/></feature>"
			   "<feature>" TAG("satp", "159") "</feature>";
}

/* A register without a number follows the previous one, also across files. */
START_TEST(firmware_interrupts_a_vcpu)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err;

	of_riscv64("4123080000000090"); /* Sv48 */
	err = hv_stub_vcpus_describe(&vcpus, vcpus.arch);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(vcpus.named_registers[0], 159);
	ck_assert_uint_eq(vcpus.named_registers[1], 21);
	regs = look(2);
	ck_assert_uint_eq(regs[0].root, 0x9000000000082341);
	ck_assert_uint_eq(regs[0].levels, 4);
	ck_assert_int_eq(regs[0].hidden, HV_HIDDEN_YES);
	ck_assert_int_eq(regs[1].hidden, HV_HIDDEN_NO);
}
END_TEST

/* The vCPU executes firmware and was never in the kernel. */
START_TEST(a_vcpu_that_was_never_started)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err;

	of_riscv64("0000000000000000");
	err = hv_stub_vcpus_describe(&vcpus, vcpus.arch);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	regs = look(2);
	ck_assert_uint_eq(regs[0].levels, 0);
	ck_assert_int_eq(regs[0].hidden, HV_HIDDEN_NO);
}
END_TEST

START_TEST(no_description)
{
	struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;

	of_arm64();
	stub.description = NULL;
	expect_error(hv_stub_vcpus_describe(&vcpus, vcpus.arch), ENOTSUP,
		     "gdb stub: it has no system-registers.xml");
	stub.description = "<feature>" TAG("TTBR1_EL12", "157") "</feature>";
	expect_error(hv_stub_vcpus_describe(&vcpus, vcpus.arch), ENOTSUP,
		     "gdb stub: its description has no TTBR1_EL1");
	stub.description = "<feature>" TAG("TTBR1_EL1", "159") "</feature>";
	stub.root = "00a00041";
	expect_success(hv_stub_vcpus_describe(&vcpus, vcpus.arch));
	expect_error(hv_stub_vcpus_look(&vcpus, 2, &regs, &nr), EPROTO,
		     "gdb stub: register 159 of vCPU 0 is '00a00041'");
}
END_TEST

/* A megabyte of tags without attributes. A search past the end of each tag would take hours while
 * the guest is held. */
START_TEST(a_long_description)
{
	HV_AUTO_TEXT struct hv_text tags = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint64_t begun_ns = hv_now_ns();

	of_arm64();
	hv_text_add(&tags, "l");
	while (tags.len_bytes < 1000000)
		hv_text_add(&tags, "<xi:include ><reg >");
	hv_text_add(&tags, "<xi:include href=\"a.xml\"/>");
	vcpus.exchange = exchange_for_one;
	one_answer = tags.data;
	nr_answers = 0;
	err = hv_stub_vcpus_describe(&vcpus, vcpus.arch);
	ck_assert(err && err->code == ENOTSUP);
	ck_assert_uint_lt(hv_now_ns() - begun_ns, 20 * HV_NS_PER_S);
}
END_TEST

/* QEMU discards translations when a watchpoint is set that spans several pages. */
START_TEST(a_flush_by_a_watchpoint)
{
	unsigned at, len;

	of_arm64();
	vcpus.named_registers[0] = 159;
	count(2);
	flush(0);
	ck_assert_uint_eq(stub.nr_watched, 1);
	ck_assert_uint_eq(stub.nr_unwatched, 1);
	ck_assert_int_eq(sscanf(stub.watched, "2,%x,%x", &at, &len), 2);
	ck_assert_uint_gt(len, 1 << 16);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, registers_are_requested_with_the_list);
	tcase_add_test(tc, plugged);
	tcase_add_test(tc, unplugged);
	tcase_add_test(tc, first_is_selected_last);
	tcase_add_test(tc, bad_lists);
	tcase_add_test(tc, the_root_has_a_name);
	tcase_add_test(tc, the_root_of_a_hypervisor);
	tcase_add_test(tc, firmware_interrupts_a_vcpu);
	tcase_add_test(tc, a_vcpu_that_was_never_started);
	tcase_add_test(tc, no_description);
	tcase_add_test(tc, a_flush_by_a_watchpoint);
	tcase_add_test(tc, a_flush_without_a_list);
	tcase_add_test(tc, registers_that_are_too_few);
	tcase_add_test(tc, too_few_answers);
	tcase_add_test(tc, too_many_vcpus);
	tcase_add_test(tc, a_long_description);
}

int main(void)
{
	return run_suite("stub_vcpus", add_tests);
}
