#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reserve(struct hv_text *t, size_t more_bytes)
{
	size_t need = t->len_bytes + more_bytes + 1;

	if (need <= t->cap_bytes)
		return;
	t->cap_bytes = need < 256 ? 256 : need * 2;
	t->data = hv_realloc_array(t->data, t->cap_bytes, 1);
}

void hv_text_deinit(struct hv_text *t)
{
	free(t->data);
	*t = (struct hv_text){0};
}

void hv_text_clear(struct hv_text *t)
{
	t->len_bytes = 0;
	if (t->data)
		t->data[0] = '\0';
}

void hv_text_add_bytes(struct hv_text *t, const void *bytes, size_t len_bytes)
{
	reserve(t, len_bytes);
	memcpy(t->data + t->len_bytes, bytes, len_bytes);
	t->len_bytes += len_bytes;
	t->data[t->len_bytes] = '\0';
}

void hv_text_add(struct hv_text *t, const char *s)
{
	hv_text_add_bytes(t, s, strlen(s));
}

void hv_text_printf(struct hv_text *t, const char *fmt, ...)
{
	va_list args;
	int len;

	reserve(t, 128);
	va_start(args, fmt);
	len = vsnprintf(t->data + t->len_bytes, t->cap_bytes - t->len_bytes, fmt, args);
	va_end(args);
	if (len < 0)
		abort();
	if ((size_t)len >= t->cap_bytes - t->len_bytes) {
		reserve(t, (size_t)len);
		va_start(args, fmt);
		vsnprintf(t->data + t->len_bytes, t->cap_bytes - t->len_bytes, fmt, args);
		va_end(args);
	}
	t->len_bytes += (size_t)len;
}

void hv_text_add_guest(struct hv_text *t, const char *name, size_t max_bytes)
{
	for (size_t i = 0; i < max_bytes && name[i]; i++) {
		unsigned char c = (unsigned char)name[i];
		char safe = c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0) ? '?' : (char)c;

		hv_text_add_bytes(t, &safe, 1);
	}
}

char *hv_text_take(struct hv_text *t)
{
	char *taken;

	reserve(t, 0);
	t->data[t->len_bytes] = '\0';
	taken = t->data;
	*t = (struct hv_text){0};
	return taken;
}
