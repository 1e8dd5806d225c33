/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a hostile VMM's answers in the parser (vmm/qemu/parser_run.c). The input is a request and
 * the answers to the commands for it. The result must be an error, or an answer of the size that
 * the privileged side expects. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "vmm/guest.h"
#include "vmm/qemu/parser.h"
#include "vmm/qemu/parser_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *answers; /* NUL-terminated; the last one is repeated */
static const char *end;

static struct hv_err *transact(void *self hv_unused, const char *request hv_unused, char **ret)
{
	*ret = hv_strdup(answers);
	if (answers + strlen(answers) + 1 < end)
		answers += strlen(answers) + 1;
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void check_size(const struct parser_head *question, size_t got)
{
	size_t want = got;

	switch (question->kind) {
	case PARSER_KIND:
		want = sizeof(struct hv_vmm_kind);
		break;
	case PARSER_STATUS:
		want = sizeof(struct hv_vmm_status);
		break;
	case PARSER_MIGRATION:
		want = sizeof(struct hv_vmm_migration);
		break;
	case PARSER_REGISTERS:
		want = question->args[0] * sizeof(struct hv_vcpu_regs);
		break;
	case PARSER_IVSHMEM:
		want = sizeof(struct hv_vmm_ivshmem);
		break;
	case PARSER_STUB:
		want = sizeof(struct hv_vmm_stub);
		break;
	default:
		break;
	}
	if (got != want ||
	    (question->kind == PARSER_THREADS && got > HV_VCPUS_MAX * sizeof(pid_t)) ||
	    (question->kind == PARSER_RAM &&
	     got > HV_VMM_RANGES_MAX * sizeof(struct hv_vmm_range)) ||
	    (question->kind == PARSER_GDBSERVER && got >= HV_VMM_TEXT_BYTES))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"x86_64", "aarch64", "riscv64", ""};
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	HV_AUTO_ERR struct hv_err *err = NULL;
	HV_AUTO_TEXT struct hv_text out = {0};
	HV_AUTO_TEXT struct hv_text texts = {0};
	struct parser_head question = {0};
	uint64_t args[3] = {0};

	if (size < 3)
		return 0;
	question.kind = data[0] % (PARSER_NR_KINDS + 1);
	question.args[0] = question.kind == PARSER_FREE_GPA ? 30 + data[1] % 32 : data[1];
	question.args[2] = 64 << 20;
	hv_text_add_bytes(&texts, data + 3, size - 3);
	hv_text_add_bytes(&texts, "", 1);
	answers = texts.data;
	end = texts.data + texts.len_bytes;
	m = hv_monitor_new(&ops, NULL);
	err = parser_answer(m, &question, names[data[2] % 4], args, &out);
	if (!err)
		check_size(&question, out.len_bytes);
	return 0;
}
