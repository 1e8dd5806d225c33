/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers, strings and pointers as the kernel's vsnprintf prints them. The expected texts are from
 * the kernel's lib/test_printf.c or follow from its lib/vsprintf.c. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/format/print_fmt/pointer.h"

static char text[256];

static struct hv_print_out out(void)
{
	memset(text, 0, sizeof(text));
	return (struct hv_print_out){.start = text, .at = text, .end = text + sizeof(text) - 1};
}

static struct hv_print_spec spec(const char *conversion)
{
	struct hv_print_spec s;

	ck_assert_uint_eq(hv_print_spec_parse(conversion, strlen(conversion), &s),
			  strlen(conversion));
	return s;
}

START_TEST(numbers)
{
	static const struct {
		const char *conversion;
		uint64_t number;
		const char *want;
	} cases[] = {
		{"%d", (uint64_t)-5, "-5"},
		{"%u", (uint64_t)-1, "4294967295"},
		{"%lu", (uint64_t)-1, "18446744073709551615"},
		{"%hhd", 0x180, "-128"},
		{"%5d", 42, "   42"},
		{"%-5d|", 42, "42   "},
		{"%05d", (uint64_t)-42, "-0042"},
		{"%+d", 42, "+42"},
		{"% d", 42, " 42"},
		{"%#x", 0, "0x0"}, /* the C library prints 0 */
		{"%#X", 0xab, "0XAB"},
		{"%#o", 8, "010"},
		{"%08x", 0xbeef, "0000beef"},
		{"%#010x", 0xbeef, "0x0000beef"},
		{"%.4x", 0xb, "000b"},
		{"%08.4x", 0xb, "0000000b"}, /* the precision does not end zero padding */
		{"%Lx", 0x123456789a, "123456789a"},
		{"%zu", 7, "7"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		struct hv_print_spec s;
		struct hv_print_out o = out();

		ck_assert_uint_ne(
			hv_print_spec_parse(cases[i].conversion, strlen(cases[i].conversion), &s),
			0);
		hv_print_number(&o, &s, cases[i].number);
		ck_assert_str_eq(text, cases[i].want);
	}
}
END_TEST

START_TEST(conversions)
{
	struct hv_print_spec s = spec("%-*.*s");

	ck_assert(s.width_is_arg && s.precision_is_arg);
	hv_print_spec_set_width(&s, -7);
	ck_assert_int_eq(s.width, 7);
	hv_print_spec_set_precision(&s, -1);
	ck_assert_int_eq(s.precision, -1);
	ck_assert_str_eq(spec("%pISpsfc").ext, "ISpsfc");
	ck_assert_uint_eq(hv_print_spec_parse("%", 1, &s), 0);
	ck_assert_uint_eq(hv_print_spec_parse("%n", 2, &s), 0);
	ck_assert_uint_eq(hv_print_spec_parse("%f", 2, &s), 0);
	ck_assert_uint_eq(hv_print_spec_parse("%99999999999d", 13, &s), 13);
	ck_assert_int_eq(s.width, (1 << 23) - 1);
}
END_TEST

START_TEST(output_that_does_not_fit)
{
	char small[4];
	struct hv_print_out o = {.start = small, .at = small, .end = small + sizeof(small)};
	struct hv_print_spec s = spec("%8000000d");

	hv_print_number(&o, &s, 1);
	ck_assert(o.full);
	ck_assert_ptr_eq(o.at, o.end);
	ck_assert_mem_eq(small, "    ", 4);
}
END_TEST

START_TEST(strings)
{
	struct hv_print_spec s = spec("%-6.3s");
	struct hv_print_out o = out();

	hv_print_string(&o, &s, "abcdef", 6);
	ck_assert_str_eq(text, "abc   ");
	s = spec("%5c");
	o = out();
	hv_print_letter(&o, &s, 'x');
	ck_assert_str_eq(text, "    x");
}
END_TEST

/* Returns the text of CONVERSION for BYTES. */
static const char *pointed(const char *conversion, const void *bytes, size_t len_bytes)
{
	static const struct hv_print_resolver resolver;
	const struct hv_print_env env = {.resolver = &resolver};
	const struct hv_print_pointer p = {.bytes = bytes, .len_bytes = len_bytes};
	struct hv_print_spec s = spec(conversion);
	struct hv_print_out o = out();

	return hv_print_pointer(&o, &s, p, &env) ? text : "(not known)";
}

START_TEST(network_addresses)
{
	static const uint8_t inet[] = {127, 0, 0, 1};
	static const uint8_t v6[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 1, 2, 3, 4};
	/* Of two equally long runs of zeros, the first is left out. */
	static const uint8_t runs[16] = {0x20, 1, [7] = 1, [13] = 1, [15] = 1};
	static const uint8_t port[28] = {2, 0, 0x1f, 0x90, 10, 0, 0, 1};
	static const uint8_t port6[28] = {10, 0, 0x1f, 0x90, [23] = 1};
	static const uint8_t other[28] = {1};
	static const uint8_t mac[] = {0x2d, 0x48, 0xd6, 0xfc, 0x7a, 0x05};

	ck_assert_str_eq(pointed("%pI4", inet, 4), "127.0.0.1");
	ck_assert_str_eq(pointed("%pi4", inet, 4), "127.000.000.001");
	ck_assert_str_eq(pointed("%pI4l", inet, 4), "1.0.0.127");
	ck_assert_str_eq(pointed("%pI6c", v6, 16), "2001:db8::1");
	ck_assert_str_eq(pointed("%pI6", v6, 16), "2001:0db8:0000:0000:0000:0000:0000:0001");
	ck_assert_str_eq(pointed("%pI6c", runs, 16), "2001::1:0:0:1:1");
	ck_assert_str_eq(pointed("%pI6c", mapped, 16), "::ffff:1.2.3.4");
	ck_assert_str_eq(pointed("%pISpc", port, 28), "10.0.0.1:8080");
	ck_assert_str_eq(pointed("%pISpc", port6, 28), "[::1]:8080");
	ck_assert_str_eq(pointed("%pISpc", other, 28), "(einval)");
	ck_assert_str_eq(pointed("%pM", mac, 6), "2d:48:d6:fc:7a:05");
	ck_assert_str_eq(pointed("%pMR", mac, 6), "05:7a:fc:d6:48:2d");
	ck_assert_str_eq(pointed("%pI4", inet, 3), "(not known)");
	ck_assert_str_eq(pointed("%pI6c", v6, 15), "(not known)");
	ck_assert_str_eq(pointed("%pISpc", port6, 27), "(not known)");
}
END_TEST

START_TEST(other_bytes)
{
	static const uint8_t uuid[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	static const uint8_t bits[] = {0x0f, 0x81, 0, 0, 1};

	ck_assert_str_eq(pointed("%pUb", uuid, 16), "00010203-0405-0607-0809-0a0b0c0d0e0f");
	ck_assert_str_eq(pointed("%pUl", uuid, 16), "03020100-0504-0706-0809-0a0b0c0d0e0f");
	ck_assert_str_eq(pointed("%pUB", uuid, 16), "00010203-0405-0607-0809-0A0B0C0D0E0F");
	ck_assert_str_eq(pointed("%pUb", uuid, 15), "(not known)");
	ck_assert_str_eq(pointed("%4ph", uuid, 16), "00 01 02 03");
	ck_assert_str_eq(pointed("%4phD", uuid, 16), "00-01-02-03");
	ck_assert_str_eq(pointed("%4phN", uuid, 16), "00010203");
	ck_assert_str_eq(pointed("%17ph", uuid, 16), "(not known)");
	ck_assert_str_eq(pointed("%33pb", bits, 5), "1,0000810f");
	ck_assert_str_eq(pointed("%33pbl", bits, 5), "0-3,8,15,32");
	ck_assert_str_eq(pointed("%41pb", bits, 5), "(not known)");
}
END_TEST

/* lib/siphash.c's vector for the key 00 01 .. 0f and the eight bytes 00 01 .. 07. */
START_TEST(hash)
{
	static const uint64_t key[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

	ck_assert_uint_eq(hv_print_hash(0x0706050403020100, key), 0x93f5f5799a932462);
}
END_TEST

static bool symbol(void *of hv_unused, struct hv_gva addr, struct hv_print_symbol *ret)
{
	if (addr.v < 0xffffffff81000000 || addr.v >= 0xffffffff81000100)
		return false;
	*ret = (struct hv_print_symbol){.name = "f",
					.module = "m",
					.offset = addr.v - 0xffffffff81000000,
					.size_bytes = 0x100};
	return true;
}

static const char *address(const char *conversion, uint64_t addr, const struct hv_print_env *env)
{
	const struct hv_print_pointer p = {.addr = hv_gva(addr)};
	struct hv_print_spec s = spec(conversion);
	struct hv_print_out o = out();

	return hv_print_pointer(&o, &s, p, env) ? text : "(not known)";
}

START_TEST(pointers)
{
	static const struct hv_print_resolver resolver = {.symbol = symbol};
	static const uint64_t key[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	struct hv_print_env env = {.resolver = &resolver, .pointer_key = key};

	ck_assert_str_eq(address("%p", 0x0706050403020100, &env), "000000009a932462");
	ck_assert_str_eq(address("%p", 0, &env), "0000000000000000");
	ck_assert_str_eq(address("%px", 0xabc, &env), "0000000000000abc");
	ck_assert_str_eq(address("%pS", 0xffffffff81000010, &env), "f+0x10/0x100 [m]");
	ck_assert_str_eq(address("%ps", 0xffffffff81000010, &env), "f [m]");
	ck_assert_str_eq(address("%pF", 0xffffffff81000010, &env), "f+0x10/0x100 [m]");
	ck_assert_str_eq(address("%pf", 0xffffffff81000010, &env), "f [m]");
	ck_assert_str_eq(address("%pB", 0xffffffff81000100, &env), "f+0x100/0x100 [m]");
	ck_assert_str_eq(address("%pS", 0x1234, &env), "0x1234");
	ck_assert_str_eq(address("%pe", (uint64_t)-2, &env), "-ENOENT");
	ck_assert_str_eq(address("%pI4", 0, &env), "(null)");
	ck_assert_str_eq(address("%pI4", 5, &env), "(efault)");
	ck_assert_str_eq(address("%pI4", 0xffff888000000000, &env), "(not known)");
	env.pointers = HV_PRINT_POINTERS_PLAIN;
	ck_assert_str_eq(address("%p", 0x0706050403020100, &env), "0706050403020100");
	env = (struct hv_print_env){.resolver = &resolver};
	ck_assert_str_eq(address("%p", 0x0706050403020100, &env), "(____ptrval____)");
}
END_TEST

START_TEST(names_of_errors)
{
	ck_assert_str_eq(hv_print_errname(11), "EAGAIN");
	ck_assert_str_eq(hv_print_errname(512), "ERESTARTSYS");
	ck_assert_ptr_null(hv_print_errname(4000));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, numbers);
	tcase_add_test(tc, conversions);
	tcase_add_test(tc, output_that_does_not_fit);
	tcase_add_test(tc, strings);
	tcase_add_test(tc, network_addresses);
	tcase_add_test(tc, other_bytes);
	tcase_add_test(tc, hash);
	tcase_add_test(tc, pointers);
	tcase_add_test(tc, names_of_errors);
}

int main(void)
{
	return run_suite("printk", add_tests);
}
