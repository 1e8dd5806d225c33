/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/image/elf_sections.h"

#include <string.h>

#define BUILD_ID_MAX 32

struct hv_span hv_elf_bytes(Elf_Scn *scn)
{
	Elf_Data *data = elf_rawdata(scn, NULL);

	if (!data || !data->d_buf)
		return (struct hv_span){0};
	return (struct hv_span){data->d_buf, data->d_size};
}

size_t hv_elf_build_id(Elf_Scn *scn, uint8_t ret[BUILD_ID_MAX])
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t off = 0, name_off, desc_off;
	GElf_Nhdr note;

	while (data && (off = gelf_getnote(data, off, &note, &name_off, &desc_off)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name_off, "GNU", 4) != 0 || !note.n_descsz ||
		    note.n_descsz > BUILD_ID_MAX)
			continue;
		memcpy(ret, (char *)data->d_buf + desc_off, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}
