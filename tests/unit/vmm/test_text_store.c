/* Text that is written while a guest stands: after each instruction of whoever writes, which may be
 * its last, a site has its old bytes or its new ones, and its neighbours theirs. Needs the right to
 * ptrace a child: without it, skipped. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/ram.h"
#include "vmm/text_store.h"

#define PAGES	  2
#define STEPS_MAX 20000
#define START_GPA 0x100000u

static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t call[] = {0xe8, 0x11, 0x22, 0x33, 0x44};
static uint8_t *memory; /* the guest's RAM, which the child shares */
static struct hv_ram_range range;
static const struct hv_ram ram = {.ranges = &range, .nr_ranges = 1};

static void write_site(uint64_t off)
{
	hv_err_free(hv_ram_write_text(&ram, hv_gpa(START_GPA + off), call, sizeof(call)));
}

static void fill(uint64_t off)
{
	memset(memory, 0xcc, PAGES * HV_TEXT_PAGE);
	memcpy(memory + off, nop, sizeof(nop));
}

static bool neighbours_are_right(uint64_t off)
{
	for (uint64_t i = 0; i < PAGES * HV_TEXT_PAGE; i++)
		if (i - off >= sizeof(nop) && memory[i] != 0xcc)
			return false;
	return true;
}

static void check_memory(uint64_t off, bool *ret_new)
{
	*ret_new = memcmp(memory + off, call, sizeof(call)) == 0;
	ck_assert_msg(*ret_new || memcmp(memory + off, nop, sizeof(nop)) == 0,
		      "a torn site at 0x%llx", (unsigned long long)off);
	ck_assert(neighbours_are_right(off));
}

/* False: may not be traced. */
static bool start_child(uint64_t off, pid_t *ret)
{
	int status;

	*ret = fork();
	ck_assert_int_ge(*ret, 0);
	if (*ret == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		raise(SIGSTOP);
		write_site(off);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(*ret, &status, 0);
	return WIFSTOPPED(status) &&
	       ptrace(PTRACE_SETOPTIONS, *ret, NULL, (void *)PTRACE_O_EXITKILL) == 0;
}

static void step_through(uint64_t off)
{
	bool is_new = false;
	int status;
	pid_t pid;

	fill(off);
	if (!start_child(off, &pid)) {
		printf("skipped: no right to ptrace\n");
		return;
	}
	for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
		ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		waitpid(pid, &status, 0);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			break;
		check_memory(off, &is_new);
	}
	ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	ck_assert(is_new);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* Aligned, over a word, over a line of the cache, at both ends of a page and over it. */
static const uint64_t places[] = {
	0,
	0x13,
	0x3e,
	HV_TEXT_PAGE - sizeof(nop),
	HV_TEXT_PAGE - 3,
	HV_TEXT_PAGE,
	PAGES *HV_TEXT_PAGE - sizeof(nop),
};

START_TEST(killed_at_any_instruction)
{
	step_through(places[_i]);
}
END_TEST

/* A neighbour of another page is not even written as it is: it may be anybody's. */
START_TEST(no_other_page)
{
	fill(HV_TEXT_PAGE - sizeof(nop));
	ck_assert_int_eq(mprotect(memory + HV_TEXT_PAGE, HV_TEXT_PAGE, PROT_READ), 0);
	write_site(HV_TEXT_PAGE - sizeof(nop));
	ck_assert_mem_eq(memory + HV_TEXT_PAGE - sizeof(nop), call, sizeof(call));
	ck_assert_int_eq(mprotect(memory + HV_TEXT_PAGE, HV_TEXT_PAGE, PROT_READ | PROT_WRITE), 0);
}
END_TEST

START_TEST(beyond_its_ram)
{
	struct hv_err *err = hv_ram_write_text(&ram, hv_gpa(START_GPA + PAGES * HV_TEXT_PAGE - 3),
					       call, sizeof(call));

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EFAULT);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, killed_at_any_instruction, 0, HV_ARRAY_LEN(places));
	tcase_add_test(tc, no_other_page);
	tcase_add_test(tc, beyond_its_ram);
	tcase_set_timeout(tc, 60);
}

int main(void)
{
	memory = mmap(NULL, PAGES * HV_TEXT_PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	range = (struct hv_ram_range){
		.start = hv_gpa(START_GPA), .len_bytes = PAGES * HV_TEXT_PAGE, .host = memory};
	return run_suite("text_store", add_tests);
}
