/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives hv_vmm_id_of() (vmm/processes.h) with the arguments of a hostile VMM, which are separated
 * by zeros. An id is short and has only harmless characters. */
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "vmm/processes.h"

#define ARGS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789-_.:+@/";
	char *text = malloc(size + 1), *args[ARGS_MAX], id[HV_VMM_ID_MAX + 1];
	size_t nr = 0;

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at <= size && nr < ARGS_MAX; at += strlen(text + at) + 1)
		args[nr++] = text + at;
	if (hv_vmm_id_of(args, nr, id) &&
	    (!*id || strlen(id) > HV_VMM_ID_MAX || id[strspn(id, harmless)]))
		abort();
	free(text);
	return 0;
}
