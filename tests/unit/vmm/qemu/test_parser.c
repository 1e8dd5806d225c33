/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser with a VMM that answers correctly and with one that attacks. This process acts as the
 * monitor whose answers are relayed. The parser is the real one, without privileges. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "vmm/guest.h"
#include "vmm/qemu/parser.h"

#define RETURN(value) "{\"return\": " value "}"

static const char *says; /* the answer to any command; NULL: CODE */
static int code;
static unsigned nr_asked;
static struct hv_parser *parser;

static struct hv_err *transact(void *self hv_unused, const char *request hv_unused, char **ret)
{
	nr_asked++;
	if (!says)
		return hv_err_new(code, "libvirt: no");
	*ret = hv_strdup(says);
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void setup(void)
{
	parser = hv_parser_relay(hv_monitor_new(&ops, NULL));
}

static void teardown(void)
{
	hv_parser_free(parser);
}

static void fails(struct hv_err *err, int want, const char *words)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == want && strstr(err->message, words), "%d: %s", err->code,
		      err->message);
	ck_assert_ptr_null(strchr(err->message, '\n'));
	ck_assert_ptr_null(strchr(err->message, '\033'));
	hv_err_free(err);
}

/* Returns the number after KEY in the status of the parser's process. */
static unsigned long long status(const char *key, int base)
{
	char path[64], line[256];
	unsigned long long value = ~0ull;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)hv_parser_pid(parser));
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, base);
	fclose(f);
	return value;
}

START_TEST(rights)
{
	struct hv_vmm_status s;

	says = RETURN("{\"status\": \"running\", \"running\": true}");
	ck_assert_ptr_null(hv_parser_status(parser, &s));
	ck_assert(s.is_running);
	ck_assert_str_eq(s.word, "running");
	ck_assert_uint_eq(status("CapPrm:", 16), 0);
	ck_assert_uint_eq(status("CapEff:", 16), 0);
	ck_assert_uint_eq(status("NoNewPrivs:", 10), 1);
	ck_assert_uint_eq(status("Seccomp:", 10), 2);
	if (geteuid() == 0) {
		ck_assert_uint_ne(status("Uid:", 10), 0);
		ck_assert_uint_ne(status("Gid:", 10), 0);
	}
}
END_TEST

START_TEST(values)
{
	HV_AUTO_FREE struct hv_vmm_range *ranges = hv_alloc(HV_VMM_RANGES_MAX * sizeof(*ranges));
	struct hv_vmm_ivshmem ivshmem;
	struct hv_vmm_kind kind;
	struct hv_vmm_stub stub;
	unsigned nr = 0;
	pid_t tids[2];

	says = RETURN("[{\"thread-id\": 12}, {\"thread-id\": -1}, {\"thread-id\": 4294967297}]");
	ck_assert_ptr_null(hv_parser_threads(parser, tids, 2, &nr));
	ck_assert_uint_eq(nr, 3);
	ck_assert_int_eq(tids[0], 12);
	ck_assert_int_eq(tids[1], 0);
	says = RETURN("{\"enabled\": true, \"arch\": \"x86_64\"}");
	ck_assert_ptr_null(hv_parser_kind(parser, &kind));
	ck_assert(kind.has_kvm);
	ck_assert_str_eq(kind.arch, "x86_64");
	says = RETURN("[{\"label\": \"gdb\", \"filename\": \"disconnected:unix:/a/"
		      "hvtrace-gdb.sock,server=on\"}]");
	ck_assert_ptr_null(hv_parser_stub(parser, &stub));
	ck_assert_int_eq(stub.state, HV_STUB_OURS);
	says = RETURN("[{\"devices\": [{\"bus\": 0, \"slot\": 3, \"function\": 0, \"id\": "
		      "{\"vendor\": 6900, \"device\": 4368}, \"regions\": [{\"bar\": 2, "
		      "\"type\": \"memory\", \"address\": -2, \"size\": 67108864}]}]}]");
	ck_assert_ptr_null(hv_parser_ivshmem(parser, &ivshmem));
	ck_assert_uint_eq(ivshmem.nr, 1);
	ck_assert(!ivshmem.is_on); /* the BAR would wrap */
	ck_assert_str_eq(ivshmem.where, "0:3.0");
}
END_TEST

START_TEST(errors)
{
	struct hv_vmm_status s;
	HV_AUTO_TEXT struct hv_text text = {0};

	says = NULL;
	code = EHOSTDOWN;
	fails(hv_parser_status(parser, &s), EHOSTDOWN, "");
	says = "{\"error\": {\"class\": \"GenericError\", \"desc\": \"\\u001b[2J\\n\\u009b2J\"}}";
	fails(hv_parser_status(parser, &s), EIO, "query-status: ?[2J???2J");
	hv_text_add(&text, "{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"");
	for (unsigned i = 0; i < 100000; i++)
		hv_text_add(&text, "long ");
	hv_text_add(&text, "\"}}");
	says = text.data;
	fails(hv_parser_status(parser, &s), ENOTSUP, "query-status: long long");
}
END_TEST

static void ask_all(void)
{
	HV_AUTO_FREE struct hv_vmm_range *ranges = hv_alloc(HV_VMM_RANGES_MAX * sizeof(*ranges));
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(HV_VCPUS_MAX * sizeof(*regs));
	char text[HV_VMM_TEXT_BYTES];
	struct hv_vmm_migration migration;
	struct hv_vmm_ivshmem ivshmem;
	struct hv_vmm_status s;
	struct hv_vmm_kind kind;
	struct hv_vmm_stub stub;
	enum hv_vmm_device device = HV_VMM_NO_DEVICE;
	struct hv_gpa gpa = {0};
	uint64_t hva;
	size_t nr_ranges;
	unsigned nr;
	bool yes;

	hv_err_free(hv_parser_kind(parser, &kind));
	hv_err_free(hv_parser_status(parser, &s));
	hv_err_free(hv_parser_migration(parser, &migration));
	hv_err_free(hv_parser_has_sev(parser, &yes));
	hv_err_free(hv_parser_threads(parser, NULL, 0, &nr));
	hv_err_free(hv_parser_registers(parser, hv_arch_find("x86_64"), regs, 2));
	hv_err_free(hv_parser_registers(parser, hv_arch_find("aarch64"), regs, HV_VCPUS_MAX));
	hv_err_free(hv_parser_ram(parser, ranges, &nr_ranges, &yes));
	hv_err_free(hv_parser_hva(parser, gpa, &hva));
	hv_err_free(hv_parser_ivshmem(parser, &ivshmem));
	hv_err_free(hv_parser_stub(parser, &stub));
	hv_err_free(hv_parser_gdbserver(parser, "/a\"b,c\\d", text));
	hv_err_free(hv_parser_cont(parser));
	hv_err_free(hv_parser_pin_is_set(parser, &yes));
	hv_err_free(hv_parser_pin_set(parser, "/proc/self/fd/7"));
	hv_err_free(hv_parser_pin_clear(parser));
	hv_err_free(hv_parser_devices(parser, &device));
	ck_assert_int_lt(device, HV_NR_VMM_DEVICES);
	hv_err_free(hv_parser_free_gpa(parser, 40, 0, 64 << 20, &gpa));
	ck_assert_ptr_null(memchr(kind.arch, 0, sizeof(kind.arch)) ? NULL : "no end");
}

/* Any VMM input gives an answer or an error, and the parser continues. */
START_TEST(nonsense)
{
	static const char *const texts[] = {
		"",
		"nonsense",
		"[",
		"{",
		"null",
		"[]",
		"{}",
		RETURN("null"),
		RETURN("7"),
		RETURN("-9223372036854775808"),
		RETURN("\"\""),
		RETURN("\"CPU#0\\r\\nCPU#1\\r\\n\""),
		RETURN("\"gpa: 0x\""),
		RETURN("\"Host virtual address for 0x0 (\""),
		RETURN("\"address-space: memory\\n  0000000000000000-ffffffffffffffff (prio 0, "
		       "ram): "
		       "r\\n\""),
		RETURN("[null, 1, \"\", [], {}]"),
		RETURN("[{\"devices\": {}, \"label\": 1, \"filename\": [], \"thread-id\": {}}]"),
		RETURN("[{\"label\": \"gdb\", \"filename\": \"unix:\"}]"),
		RETURN("{\"status\": {}, \"arch\": 1, \"enabled\": \"\", \"qemu\": []}"),
		"{\"error\": null}",
		"{\"error\": {\"class\": 1, \"desc\": []}}",
	};
	pid_t pid = -1;

	for (size_t i = 0; i < HV_ARRAY_LEN(texts); i++) {
		says = texts[i];
		ask_all();
		if (pid > 0)
			ck_assert_int_eq(hv_parser_pid(parser), pid);
		pid = hv_parser_pid(parser);
	}
}
END_TEST

static void deep(const char *open, unsigned nr)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_text_add(&text, "{\"return\": ");
	for (unsigned i = 0; i < nr; i++)
		hv_text_add(&text, open);
	says = text.data;
	ask_all();
}

START_TEST(very_deep)
{
	struct hv_vmm_status s;

	deep("[", 100000);
	deep("{\"a\": ", 100000);
	deep("{\"pci_bridge\": {\"devices\": [", 30);
	says = RETURN("{\"status\": \"running\", \"running\": true}");
	ck_assert_ptr_null(hv_parser_status(parser, &s));
}
END_TEST

START_TEST(a_hold_that_takes_too_long)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_vmm_status s;

	while (text.len_bytes <= 32u << 20)
		hv_text_add(&text, "                                                        ");
	says = text.data;
	fails(hv_parser_status(parser, &s), EMSGSIZE, "an answer is longer than");
}
END_TEST

/* A parser that was killed, also by an attack, is replaced. */
START_TEST(killed)
{
	struct hv_vmm_status s;
	pid_t first;

	says = RETURN("{\"status\": \"running\", \"running\": true}");
	ck_assert_ptr_null(hv_parser_status(parser, &s));
	first = hv_parser_pid(parser);
	kill(first, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)first, NULL, WEXITED | WNOWAIT), 0);
	ck_assert_ptr_null(hv_parser_status(parser, &s));
	ck_assert_int_ne(hv_parser_pid(parser), first);
	ck_assert_int_ne(kill(first, 0), 0); /* the first parser has been reaped */
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rights);
	tcase_add_test(tc, values);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, nonsense);
	tcase_add_test(tc, very_deep);
	tcase_add_test(tc, a_hold_that_takes_too_long);
	tcase_add_test(tc, killed);
}

int main(void)
{
	return run_suite("parser", add_tests);
}
