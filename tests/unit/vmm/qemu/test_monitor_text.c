/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes output of QEMU 7.2's monitor (fixtures/). */
#include <check.h>

#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/qemu/captured.h"
#include "vmm/qemu/monitor_text.h"

START_TEST(host_addresses)
{
	HV_AUTO_FREE char *name = NULL;
	uint64_t hva = 0;

	ck_assert(hv_gpa2hva_parse(
		"Host virtual address for 0x100000000 (m 1) is 0x7f3dabc00000\r\n", &hva, &name));
	ck_assert_uint_eq(hva, 0x7f3dabc00000);
	ck_assert_str_eq(name, "m 1");
	ck_assert(!hv_gpa2hva_parse("Memory at address 0xfec00000 is not RAM\r\n", &hva, &name));
	ck_assert(!hv_gpa2hva_parse("No memory is mapped at address 0x180000000\r\n", &hva, &name));
	ck_assert(!hv_gpa2hva_parse("", &hva, &name));
	ck_assert_uint_eq(hva, 0x7f3dabc00000);
}
END_TEST

START_TEST(gva2gpa)
{
	struct hv_gpa gpa = {0};

	ck_assert(hv_gva2gpa_parse("gpa: 0x40fdabc8\r\n", &gpa));
	ck_assert_uint_eq(gpa.v, 0x40fdabc8);
	ck_assert(!hv_gva2gpa_parse("Unmapped\r\n", &gpa));
	ck_assert(!hv_gva2gpa_parse("", &gpa));
	ck_assert_uint_eq(gpa.v, 0x40fdabc8);
}
END_TEST

START_TEST(vcpus)
{
	HV_AUTO_FREE char *text = captured("registers-2cpu.txt");
	HV_AUTO_FREE char *first = NULL;
	HV_AUTO_FREE char *second = NULL;
	const char *at = text;
	char *none = NULL;

	ck_assert(hv_vcpu_text_next(&at, &first));
	ck_assert(hv_vcpu_text_next(&at, &second));
	ck_assert(!hv_vcpu_text_next(&at, &none));
	ck_assert_ptr_nonnull(strstr(first, "RSP=ffffffffb9203e98"));
	ck_assert_ptr_null(strstr(first, "CPU#"));
	ck_assert_ptr_nonnull(strstr(second, "CR3=0000000010ca0000"));
	ck_assert_ptr_null(strstr(second, "RSP=ffffffffb9203e98"));
}
END_TEST

/* The second of three was unplugged. */
START_TEST(vcpus_with_a_gap)
{
	static const char text[] = "\r\nCPU#0\r\nRAX=0\r\n\r\nCPU#2\r\nRAX=2\r\n";
	HV_AUTO_FREE char *first = NULL;
	HV_AUTO_FREE char *second = NULL;
	const char *at = text;
	char *none = NULL;

	ck_assert(hv_vcpu_text_next(&at, &first));
	ck_assert(hv_vcpu_text_next(&at, &second));
	ck_assert_str_eq(second, "RAX=2\r\n");
	ck_assert(!hv_vcpu_text_next(&at, &none));
	at = "";
	ck_assert(!hv_vcpu_text_next(&at, &none));
}
END_TEST

/* A hostile VMM names as many vCPUs as fit into its answer. */
START_TEST(very_many_vcpus)
{
	struct hv_text text = {0};
	const char *at;
	char *part = NULL;
	unsigned nr = 0;

	while (text.len_bytes < 8u << 20)
		hv_text_add_bytes(&text, "CPU#0\n", 6);
	hv_text_add(&text, "");
	for (at = text.data; hv_vcpu_text_next(&at, &part); nr++)
		free(hv_take(part));
	ck_assert_uint_eq(nr, text.len_bytes / 6);
	hv_text_deinit(&text);
}
END_TEST

START_TEST(very_long_vcpu)
{
	struct hv_text text = {0};
	HV_AUTO_FREE char *part = NULL;
	const char *at;

	hv_text_add(&text, "CPU#0\n");
	while (text.len_bytes < 8u << 20)
		hv_text_add_bytes(&text, "RAX=0 ", 6);
	hv_text_add(&text, "");
	at = text.data;
	ck_assert(hv_vcpu_text_next(&at, &part));
	ck_assert_uint_eq(strlen(part), HV_VCPU_TEXT_MAX_BYTES);
	ck_assert_uint_eq(*at, '\0');
	hv_text_deinit(&text);
}
END_TEST

START_TEST(pci)
{
	HV_AUTO_FREE char *text = captured("query-pci.json");
	HV_AUTO_JSON struct json_object *answer = json_tokener_parse(text);
	struct json_object *list = NULL;
	struct hv_pci_bars bars;

	ck_assert(json_object_object_get_ex(answer, "return", &list));
	hv_pci_bars_parse(list, &bars);
	ck_assert_uint_eq(bars.nr_bars, 3);
	ck_assert(!hv_pci_bar_is_on(&bars.bars[0])); /* I/O ports */
	ck_assert_uint_eq(bars.bars[2].vendor, 0x1af4);
	ck_assert_uint_eq(bars.bars[2].device, 0x1110);
	ck_assert_uint_eq(bars.bars[2].bar, 2);
	ck_assert_uint_eq(bars.bars[2].start.v, 0xf8000000);
	ck_assert_uint_eq(bars.bars[2].len_bytes, 64u << 20);
	ck_assert_str_eq(bars.bars[2].where, "0:2.0");
	ck_assert(hv_pci_bar_is_on(&bars.bars[2]));
	hv_pci_bars_deinit(&bars);
}
END_TEST

START_TEST(pci_devices_on_a_bridge)
{
	HV_AUTO_JSON struct json_object *list = json_tokener_parse(
		"[{\"bus\":0,\"devices\":[{\"bus\":0,\"slot\":3,\"function\":1,\"regions\":[],"
		"\"pci_bridge\":{\"bus\":{},\"devices\":[{\"bus\":1,\"slot\":5,\"function\":0,"
		"\"id\":{\"vendor\":6900,\"device\":4368},\"regions\":[{\"bar\":2,\"type\":"
		"\"memory\",\"address\":-1,\"size\":67108864}]}]}}]}]");
	struct hv_pci_bars bars;

	hv_pci_bars_parse(list, &bars);
	ck_assert_uint_eq(bars.nr_bars, 1);
	ck_assert_str_eq(bars.bars[0].where, "1:5.0");
	ck_assert(!hv_pci_bar_is_on(&bars.bars[0])); /* disabled */
	hv_pci_bars_deinit(&bars);
}
END_TEST

START_TEST(too_much_pci)
{
	struct hv_text text = {0};
	HV_AUTO_JSON struct json_object *list = NULL;
	struct hv_pci_bars bars;

	hv_text_add(&text, "[{\"devices\":[{\"regions\":[{}");
	for (unsigned i = 0; i < HV_PCI_BARS_MAX; i++)
		hv_text_add(&text, ",{}");
	hv_text_add(&text, "]}]}]");
	list = json_tokener_parse(text.data);
	ck_assert_ptr_nonnull(list);
	hv_pci_bars_parse(list, &bars);
	ck_assert(bars.too_many);
	ck_assert_uint_eq(bars.nr_bars, HV_PCI_BARS_MAX);
	hv_pci_bars_deinit(&bars);
	hv_text_deinit(&text);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, host_addresses);
	tcase_add_test(tc, gva2gpa);
	tcase_add_test(tc, vcpus);
	tcase_add_test(tc, vcpus_with_a_gap);
	tcase_add_test(tc, very_many_vcpus);
	tcase_add_test(tc, very_long_vcpu);
	tcase_add_test(tc, pci);
	tcase_add_test(tc, pci_devices_on_a_bridge);
	tcase_add_test(tc, too_much_pci);
}

int main(void)
{
	return run_suite("monitor_text", add_tests);
}
