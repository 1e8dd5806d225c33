/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"
#include "cli/service/policy.h"
#include "tests/lib/run_suite.h"
#include "tree/settings/tracer_names.h"

#define ID "1f0a4a3e-0000-4000-8000-000000000001"

static struct policy *parsed(const char *text)
{
	struct policy *p = NULL;

	ck_assert_ptr_null(policy_parse(text, strlen(text), "conf", &p));
	return p;
}

static struct policy_rights rights(const char *text, uid_t uid, gid_t gid, const char *domain)
{
	AUTO_POLICY struct policy *p = parsed(text);
	const struct policy_person person = {uid, &gid, 1};

	return policy_rights(p, &person, domain, ID);
}

START_TEST(an_empty_policy_allows_nothing)
{
	ck_assert(!rights("", 1000, 100, "web1").reads);
	ck_assert(!rights("\n# allow user 1000 read *\n\n", 1000, 100, "web1").reads);
	ck_assert(!policy_rights(NULL, &(struct policy_person){1000, NULL, 0}, "web1", ID).reads);
}
END_TEST

START_TEST(rules_are_about_users_groups_and_domains)
{
	const char *text = "allow user 1000 read web*,db?\nallow group 100 read " ID "\n";

	ck_assert(rights(text, 1000, 7, "web1").reads);
	ck_assert(rights(text, 1000, 7, "db2").reads);
	ck_assert(!rights(text, 1000, 7, "db22").reads);
	ck_assert(!rights(text, 1001, 7, "web1").reads);
	ck_assert(rights(text, 1001, 100, "whatever").reads);
	/* A user is not a group. */
	ck_assert(!rights("allow user 100 read *\n", 5, 100, "web1").reads);
	ck_assert(!rights("allow group 5 read *\n", 5, 100, "web1").reads);
}
END_TEST

START_TEST(control_names_its_tracers)
{
	const char *text = "allow user 5 control web1 function\nallow group 6 control * events\n"
			   "allow user 5 read db\n";
	struct policy_rights r = rights(text, 5, 7, "web1");

	ck_assert(r.reads && r.controls);
	ck_assert_uint_eq(r.tracers, 1u << HV_TRACER_NOP | 1u << HV_TRACER_FUNCTION);
	r = rights(text, 5, 6, "web1");
	ck_assert_uint_eq(r.tracers,
			  1u << HV_TRACER_NOP | 1u << HV_TRACER_FUNCTION | POLICY_EVENTS);
	r = rights(text, 5, 7, "db");
	ck_assert(r.reads && !r.controls && !r.tracers);
	r = rights("allow user root control * *\n", 0, 0, "db");
	ck_assert_uint_eq(r.tracers, ~0u);
}
END_TEST

START_TEST(memory_is_named)
{
	struct policy_rights r = rights("allow user 5 memory web*\n", 5, 7, "web1");

	ck_assert(r.reads && r.memory && !r.controls && !r.tracers);
	ck_assert(!rights("allow user 5 memory web*\n", 5, 7, "db").memory);
	ck_assert(!rights("allow user 5 control * *\n", 5, 7, "web1").memory);
	r = rights("allow user 5 memory *\nallow group 7 control * events\n", 5, 7, "web1");
	ck_assert(r.memory && r.controls);
}
END_TEST

START_TEST(a_packed_policy_is_equal)
{
	AUTO_POLICY struct policy *p = parsed("allow user 5 memory a,b\n"
					      "allow group 7 control c function\n");
	const gid_t group = 7;
	const struct policy_person person = {5, &group, 1};
	size_t len_bytes;
	HV_AUTO_FREE uint8_t *bytes = policy_pack(p, &len_bytes);
	AUTO_POLICY struct policy *other = policy_unpack(bytes, len_bytes);

	ck_assert_ptr_nonnull(other);
	for (unsigned i = 0; i < 4; i++) {
		const char *domain = ((const char *[]){"a", "b", "c", "d"})[i];
		struct policy_rights r = policy_rights(p, &person, domain, ID);
		struct policy_rights same = policy_rights(other, &person, domain, ID);

		ck_assert(r.memory == (i < 2) && r.controls == (i == 2));
		ck_assert(r.reads == same.reads && r.memory == same.memory &&
			  r.controls == same.controls && r.tracers == same.tracers);
	}
	ck_assert_ptr_null(policy_unpack(bytes, len_bytes - 1));
}
END_TEST

static const struct {
	const char *text;
	const char *message; /* start of the message */
} bad_files[] = {
	{"deny user 5 read *\n", "conf:1: no rule begins with 'deny'"},
	{"allow user 5 read\n", "conf:1: the rule has 4 words and is not complete"},
	{"\nallow 5 5 read *\n", "conf:2: '5' is neither user nor group"},
	{"allow user 5 write *\n", "conf:1: 'write' is neither read, control nor memory"},
	{"allow user 5 read * function\n", "conf:1: a rule of read has 5 words, this one has more"},
	{"allow user 5 memory * nop\n", "conf:1: a rule of memory has 5 words, this one has more"},
	{"allow user 5 read a, b\n", "conf:1: a rule of read has 5 words, this one has more"},
	{"allow user 5 read a,\n", "conf:1: 'a,' has an empty domain"},
	{"allow user 5 control *\n", "conf:1: a rule of control has 6 words, this one has 5"},
	{"allow user 5 control * function b c d e\n", "conf:1: a rule of control has 6 words"},
	{"allow user 5 control * function,,nop\n", "conf:1: there is no tracer ''"},
	{"allow user no_such_user_ read *\n", "conf:1: this host has no user 'no_such_user_'"},
	{"allow user 4294967295 read *\n", "conf:1: this host has no user '4294967295'"},
	{"allow user -1 read *\n", "conf:1: this host has no user '-1'"},
	{"allow user 5 read *", "conf:1: the last line has no end"},
	{"allow user 5 read *\n\001\n", "conf:2: has a byte 0x01"},
	{"allow user 5 read *\r\n", "conf:1: has a byte 0x0d"},
};

START_TEST(a_bad_line_is_named)
{
	struct policy *p = NULL;
	struct hv_err *err =
		policy_parse(bad_files[_i].text, strlen(bad_files[_i].text), "conf", &p);

	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_null(p);
	if (strncmp(err->message, bad_files[_i].message, strlen(bad_files[_i].message)) != 0)
		ck_abort_msg("%s", err->message);
	ck_assert_ptr_nonnull(strstr(err->message, "until then only root may use sessions"));
	hv_err_free(err);
}
END_TEST

START_TEST(a_nul_byte_is_refused)
{
	struct policy *p = NULL;
	struct hv_err *err = policy_parse("allow user 5 read *\0x\n", 22, "conf", &p);

	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
}
END_TEST

START_TEST(rules_have_a_limit)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct policy *p = NULL;
	struct hv_err *err;

	for (unsigned i = 0; i < 1000; i++)
		hv_text_add(&text, "allow user 5 read *\n");
	err = policy_parse(text.data, text.len_bytes, "conf", &p);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, E2BIG);
	ck_assert_ptr_nonnull(strstr(err->message, "conf:257: there are more than 256 rules"));
	hv_err_free(err);
}
END_TEST

/* Reads PATH, and checks that the message is "PATH: REASON..." */
static void refuses_file(const char *path, int code, const char *reason)
{
	struct policy *p = NULL;
	struct stat seen;
	HV_AUTO_ERR struct hv_err *err = policy_read(path, &p, &seen);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, code);
	ck_assert_ptr_nonnull(strstr(err->message, path));
	if (!strstr(err->message, reason))
		ck_abort_msg("%s", err->message);
}

START_TEST(files_that_are_refused)
{
	char dir[] = "/tmp/policy.XXXXXX";
	HV_AUTO_FREE char *path = NULL, *link = NULL;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	path = hv_format("%s/conf", dir);
	link = hv_format("%s/link", dir);
	refuses_file(dir, EINVAL, ": is not a regular file: replace it by one");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 70000), 0);
	refuses_file(path, EFBIG, ": has more than 65536 bytes: shorten it");
	ck_assert_int_eq(fchmod(fd, 0666), 0);
	refuses_file(path, EPERM, ": others than root can write it: chmod it to 0644");
	ck_assert_int_eq(symlink("conf", link), 0);
	refuses_file(link, ELOOP, ": is a symbolic link: replace it by a file");
	refuses_file("/dev/null/conf", ENOTDIR, ": cannot be opened: Not a directory");
	close(fd);
	unlink(link);
	unlink(path);
	rmdir(dir);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, an_empty_policy_allows_nothing);
	tcase_add_test(tc, rules_are_about_users_groups_and_domains);
	tcase_add_test(tc, control_names_its_tracers);
	tcase_add_test(tc, memory_is_named);
	tcase_add_test(tc, a_packed_policy_is_equal);
	tcase_add_loop_test(tc, a_bad_line_is_named, 0, HV_ARRAY_LEN(bad_files));
	tcase_add_test(tc, a_nul_byte_is_refused);
	tcase_add_test(tc, rules_have_a_limit);
	tcase_add_test(tc, files_that_are_refused);
}

int main(void)
{
	return run_suite("policy", add_tests);
}
