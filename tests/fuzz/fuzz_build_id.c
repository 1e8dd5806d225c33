/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the build id of a file that any user in the guest may have created. The id must be within
 * its bounds and must occur in the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest-agent/build_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	unsigned char id[BUILD_ID_MAX];
	unsigned nr;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	nr = build_id_read(fd, id);
	if (nr > BUILD_ID_MAX || (nr && !memmem(data, size, id, nr)))
		abort();
	return 0;
}
