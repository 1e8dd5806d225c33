/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/kept.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "the journal that the host keeps: %s: %s", what, strerror(errno));
}

struct hv_err *hv_kept_map(int fd, struct hv_kept *ret)
{
	void *host = mmap(NULL, HV_REGION_KEPT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (host == MAP_FAILED) {
		close(fd);
		return failed("mmap");
	}
	*ret = (struct hv_kept){fd, host};
	return NULL;
}

struct hv_err *hv_kept_make(struct hv_kept *ret)
{
	int fd = memfd_create("hvtrace-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return failed("memfd_create");
	/* Otherwise a service could make the warden fail by making it shorter. */
	if (ftruncate(fd, HV_REGION_KEPT_BYTES) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
		close(fd);
		return failed("its length");
	}
	return hv_kept_map(fd, ret);
}

void hv_kept_close(struct hv_kept *k)
{
	if (k->host)
		munmap(k->host, HV_REGION_KEPT_BYTES);
	hv_close_at(&k->fd);
	*k = HV_KEPT_NONE;
}

void hv_kept_put_back(const struct hv_kept *k, const struct hv_region *region)
{
	if (k->host && region->host && region->len_bytes >= HV_REGION_KEPT_BYTES)
		memcpy(region->host, k->host, HV_REGION_KEPT_BYTES);
}
