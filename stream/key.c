/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/key.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

static struct hv_err *check(const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return hv_err_new(EINVAL, "%s: the key file is not a regular file", path);
	if (st.st_mode & S_IRWXO)
		return hv_err_new(EPERM,
				  "%s: the key file is accessible to other users (mode %03o): use "
				  "mode 600",
				  path, (unsigned)st.st_mode & 0777);
	return NULL;
}

struct hv_err *hv_stream_key_read(const char *path, struct hv_stream_key *ret)
{
	uint8_t bytes[HV_STREAM_KEY_FILE_MAX + 1];
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct hv_err *err;
	ssize_t n;

	if (fd < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	err = check(path, fd);
	if (err)
		return err;
	if (sodium_init() < 0)
		return hv_err_new(EIO, "cannot initialize libsodium");
	n = read(fd, bytes, sizeof(bytes));
	if (n < 0)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	if (n < HV_STREAM_KEY_FILE_MIN || n > HV_STREAM_KEY_FILE_MAX)
		return hv_err_new(EINVAL, "%s: a key file must have %d to %d bytes", path,
				  HV_STREAM_KEY_FILE_MIN, HV_STREAM_KEY_FILE_MAX);
	crypto_generichash(ret->bytes, sizeof(ret->bytes), bytes, (size_t)n, NULL, 0);
	sodium_memzero(bytes, sizeof(bytes));
	return NULL;
}

void hv_stream_hash(const struct hv_stream_key *key, struct hv_span s,
		    uint8_t ret[HV_STREAM_HASH_LEN])
{
	crypto_generichash(ret, HV_STREAM_HASH_LEN, s.data, s.len_bytes, key->bytes,
			   sizeof(key->bytes));
}

bool hv_stream_hash_is(const struct hv_stream_key *key, struct hv_span s,
		       const uint8_t hash[HV_STREAM_HASH_LEN])
{
	uint8_t own[HV_STREAM_HASH_LEN];

	hv_stream_hash(key, s, own);
	return sodium_memcmp(own, hash, sizeof(own)) == 0;
}

uint64_t hv_stream_random(void)
{
	uint64_t value;

	randombytes_buf(&value, sizeof(value));
	return value;
}
