/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's status file contains the domain's process. A file that other users can write is not
 * trusted. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/domains.h"
#include "vmm/qemu/libvirt.h"

#define UUID "191e232b-2f69-40a6-8df6-3f6eed6cf7af"
#define HEAD "<!--\nWARNING: pid='1'\n-->\n\n"
#define STATUS(pid, dir, uuid)                                                                     \
	HEAD "<domstatus state='running' reason='booted' pid='" pid "'>\n"                         \
	     "  <monitor path='/var/lib/libvirt/qemu/domain-1-web/monitor.sock' type='unix'/>\n"   \
	     "  <vcpus>\n    <vcpu id='0' pid='1'/>\n  </vcpus>\n" dir                             \
	     "  <domain type='qemu' id='1'>\n    <name>web</name>\n    <uuid>" uuid "</uuid>\n"    \
	     "    <metadata><libDir path='/etc'/></metadata>\n  </domain>\n</domstatus>\n"
#define DIR "  <libDir path='/var/lib/libvirt/qemu/domain-1-a&amp;b&apos;c'/>\n"

static char place[32], file[64];

static void setup(void)
{
	strcpy(place, "/tmp/libvirt-state-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place));
	snprintf(file, sizeof(file), "%s/web.xml", place);
}

static void teardown(void)
{
	unlink(file);
	rmdir(place);
}

static void put(const char *text)
{
	FILE *f = fopen(file, "we");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	ck_assert_int_eq(chmod(file, 0600), 0);
}

static void refused(const char *name, int code, const char *words)
{
	struct hv_libvirt_state s = {0};
	struct hv_err *err = hv_libvirt_state_read(place, name, UUID, &s);

	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%d: %s", err->code,
		      err->message);
	ck_assert_int_eq(s.pid, 0);
	hv_err_free(err);
}

START_TEST(told)
{
	HV_AUTO_LIBVIRT_STATE struct hv_libvirt_state s = {0};

	put(STATUS("6190", DIR, UUID));
	ck_assert_ptr_null(hv_libvirt_state_read(place, "web", UUID, &s));
	ck_assert_int_eq(s.pid, 6190);
	ck_assert_str_eq(s.private_dir, "/var/lib/libvirt/qemu/domain-1-a&b'c");
}
END_TEST

START_TEST(files_writable_by_others)
{
	put(STATUS("6190", DIR, UUID));
	ck_assert_int_eq(chmod(file, 0660), 0);
	refused("web", EPERM, "others than root can write it");
	ck_assert_int_eq(chmod(file, 0600), 0);
	ck_assert_int_eq(chmod(place, 0777), 0);
	refused("web", EPERM, "others than root can write it");
	ck_assert_int_eq(chmod(place, 0700), 0);
	unlink(file);
	ck_assert_int_eq(symlink("/etc/passwd", file), 0);
	refused("web", ELOOP, "web.xml: Too many levels of symbolic links");
	unlink(file);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	refused("web", EPERM, "others than root can write it");
	if (geteuid() != 0)
		return;
	unlink(file);
	put(STATUS("6190", DIR, UUID));
	ck_assert_int_eq(chown(file, 54321, 54321), 0);
	refused("web", EPERM, "others than root can write it");
}
END_TEST

START_TEST(files_of_another_domain)
{
	put(STATUS("6190", DIR, "00000000-2f69-40a6-8df6-3f6eed6cf7af"));
	refused("web", ESRCH, "belongs to another domain");
	refused("web2", ESRCH, "web2.xml: No such file or directory");
	refused("../web", EINVAL, "a domain cannot have this name");
	refused("", EINVAL, "a domain cannot have this name");
}
END_TEST

START_TEST(malformed_files)
{
	static const char *const texts[] = {
		"",
		"<domstatus pid='6190'",
		STATUS("0", DIR, UUID),
		STATUS("-1", DIR, UUID),
		STATUS("12345678901", DIR, UUID),
		STATUS("6190x", DIR, UUID),
		STATUS("6190", "", UUID), /* an id in the metadata is not libvirt's */
		STATUS("6190", "  <libDir path='relative'/>\n", UUID),
		HEAD "<domstatus state='running'>\n" DIR "<vcpu pid='1'/><domain ><uuid>" UUID
		     "</uuid>",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(texts); i++) {
		put(texts[i]);
		refused("web", EPROTO, "is not understood");
	}
}
END_TEST

static void is_at(const char *uri, const char *want)
{
	HV_AUTO_FREE char *dir = hv_libvirt_state_dir(uri);

	if (want)
		ck_assert_str_eq(dir, want);
	else
		ck_assert_ptr_null(dir);
}

START_TEST(places)
{
	HV_AUTO_FREE char *own = hv_format("/run/user/%u/libvirt/qemu/run", (unsigned)geteuid());

	is_at("qemu:///system", "/run/libvirt/qemu");
	is_at("qemu+unix:///system?socket=/run/x/session", "/run/libvirt/qemu");
	is_at("qemu:///session", own);
	is_at("qemu:///embed?root=/x/system", NULL);
	is_at("test:///default", NULL);
	is_at("", NULL);
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
	HV_AUTO_FREE char *missing =
		hv_format("libvirt's status file %s/other.xml: No such file or directory", place);
	HV_AUTO_FREE char *long_one =
		hv_format("libvirt's status file %s/web.xml: more than 16777216 bytes", place);

	refused("other", ESRCH, missing);
	put("");
	ck_assert_int_eq(truncate(file, (16 << 20) + 1), 0);
	refused("web", EFBIG, long_one);
}
END_TEST

/* libvirt's test driver has a domain "test" in this process. */
START_TEST(domains_that_are_not_of_qemu)
{
	static const char uri[] = "test:///default";
	struct hv_libvirt_domain domain;
	struct hv_domain *list = NULL;
	size_t nr = 0;

	expect_error(hv_libvirt_open("test", "nowhere:///", &domain), ENOTCONN,
		     "libvirt: no connection to nowhere:///: ");
	expect_error(hv_libvirt_open("web1", uri, &domain), ENOENT,
		     "libvirt: no domain has that name, id or UUID (test:///default)");
	expect_error(hv_libvirt_open("test", uri, &domain), ENOTSUP,
		     "libvirt: cannot find the process of a domain of test:///default (it can be "
		     "named without libvirt: pid:N)");
	expect_success(hv_domain_list(uri, &list, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_str_eq(list[0].reason, "not a QEMU domain");
	hv_domain_list_free(list, nr);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, told);
	tcase_add_test(tc, files_writable_by_others);
	tcase_add_test(tc, files_of_another_domain);
	tcase_add_test(tc, malformed_files);
	tcase_add_test(tc, places);
	tcase_add_test(tc, files_that_cannot_be_read);
	tcase_add_test(tc, domains_that_are_not_of_qemu);
}

int main(void)
{
	return run_suite("libvirt_state", add_tests);
}
