/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bench/native.h"

#include <asm/prctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (8u << 20) /* this process's stack counts as an aligned kernel stack */
/* Address of the world: the trampoline code contains 32-bit addresses. */
#define MAPPED_AT   ((void *)0x40000000)

struct world *native_new(uint64_t nr_slots, const char **ret_lack)
{
	uint8_t *host = mmap(MAPPED_AT, WORLD_LEN(nr_slots), PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct world *w;

	if (host == MAP_FAILED) {
		*ret_lack = "no memory that is writable and executable";
		return NULL;
	}
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, host + WORLD_CPU_OFF) != 0) {
		munmap(host, WORLD_LEN(nr_slots));
		*ret_lack = "the gs base cannot be set (arch_prctl)";
		return NULL;
	}
	w = malloc(sizeof(*w));
	if (!w)
		abort();
	*w = (struct world){
		.host = host,
		.gva = hv_gva((uintptr_t)host),
		.nr_slots = nr_slots,
		.values = calloc(1, sizeof(struct hv_trampoline_values)),
		.stack = hv_gva((uintptr_t)__builtin_frame_address(0) / STACK_BYTES * STACK_BYTES),
		.stack_bytes = STACK_BYTES,
	};
	world_set_up(w, &world_cases[0]);
	return w;
}

void native_free(struct world *w)
{
	if (w) {
		munmap(w->host, WORLD_LEN(w->nr_slots));
		free(w->values);
	}
	free(w);
}

static void make_call(const struct world *w, uint64_t off, const uint8_t *target, size_t len)
{
	memcpy(w->host + off + 0x20, target, len);
	if (!hv_arch_x86_64.encode_call(world_gva(w, off), world_gva(w, off + 0x20), w->host + off))
		abort();
	w->host[off + 5] = 0xc3;
}

extern const uint8_t native_replaced[], native_by_call[], native_by_jump[], native_by_end[];
extern const uint8_t native_beside[], native_beside_end[];
__asm__(".text\n"
	"native_replaced:\n"
	"	mov (%rsp), %rcx\n"
	"	lea 1f(%rip), %rax\n"
	"	mov %rax, (%rsp)\n"
	"	ret\n"
	"1:\n"
	"native_by_call:\n"
	"	call 1f\n"
	"	int3\n"
	"1:	mov %rcx, (%rsp)\n"
	"	ret\n"
	"native_by_jump:\n"
	"	jmp *%rcx\n"
	"native_by_end:\n"
	"native_beside:\n"
	"	jmp 2f\n"
	"1:	ret\n"
	"2:	pop %rcx\n"
	"	call 1b\n"
	"	push %rcx\n"
	"	ret\n"
	"native_beside_end:\n");

/* Puts a function at OFF that changes its return address to the code from CODE to END. */
static void make_replaced(const struct world *w, uint64_t off, const uint8_t *code,
			  const uint8_t *end)
{
	size_t len_bytes = (size_t)(native_by_call - native_replaced);

	memcpy(w->host + off, native_replaced, len_bytes);
	memcpy(w->host + off + len_bytes, code, (size_t)(end - code));
}

void native_prepare(const struct world *w, const struct world_case *c)
{
	static const uint8_t untraced[] = {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3};
	static const uint8_t rdtsc[] = {0x0f, 0x31, 0xc3};
	static const uint8_t lock_add[] = {0xf0, 0x48, 0x0f, 0xc1, 0x84, 0x24,
					   0x00, /* -256(%rsp) */
					   0xff, 0xff, 0xff, 0x0f, 0x31, 0xc3};
	uint64_t heads[WORLD_NR_CPUS];

	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		heads[cpu] = world_state(w, cpu)->head;
	world_prepare(w, c);
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		world_state(w, cpu)->head = heads[cpu];
	memcpy(w->host + NATIVE_UNTRACED_OFF, untraced, sizeof(untraced));
	make_call(w, NATIVE_EMPTY_OFF, rdtsc + 2, 1);
	make_call(w, NATIVE_RDTSC_OFF, rdtsc, sizeof(rdtsc));
	make_replaced(w, NATIVE_BY_CALL_OFF, native_by_call, native_by_jump);
	make_replaced(w, NATIVE_BY_JUMP_OFF, native_by_jump, native_by_end);
	memcpy(w->host + NATIVE_BESIDE_OFF, native_beside,
	       (size_t)(native_beside_end - native_beside));
	make_call(w, NATIVE_ADD_OFF, lock_add + 1, sizeof(lock_add) - 1);
	make_call(w, NATIVE_LOCK_OFF, lock_add, sizeof(lock_add));
}

void *native_place(const struct world *w, const uint8_t *code, const uint8_t *end)
{
	size_t len_bytes = (size_t)(end - code);

	if (len_bytes > WORLD_PIDS_OFF - NATIVE_PLACED_OFF)
		abort();
	return memcpy(w->host + NATIVE_PLACED_OFF, code, len_bytes);
}

/* %rdi: the function, %rsi: number of calls, %rdx: the word to clear. A graph trampoline clobbers
 * the registers that a function may clobber; other trampolines clobber only %r10, %r11 and the
 * flags. */
void native_loop(void *function, uint64_t nr, uint32_t *each);
__asm__(".text\n"
	".balign 64\n"
	"native_loop:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	mov %rdi, %rbx\n"
	"	mov %rsi, %r12\n"
	"	mov %rdx, %r13\n"
	"	.balign 64\n"
	"1:	movl $0, (%r13)\n"
	"	call *%rbx\n"
	"	.globl native_loop_return\n"
	"native_loop_return:\n"
	"	dec %r12\n"
	"	jnz 1b\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n");
extern const uint8_t native_loop_return[];

void native_call(const struct world *w, uint64_t off, uint64_t nr, uint32_t *each)
{
	native_loop(w->host + off, nr, each);
}

uint64_t native_call_return(void)
{
	return (uintptr_t)native_loop_return;
}
