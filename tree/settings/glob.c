/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/glob.h"

#include <ctype.h>
#include <string.h>

/* Returns the kind of glob TEXT. The kind replaces a '*' at the beginning or end: this function
 * removes one at the end, the caller one at the beginning. Any other special character makes TEXT a
 * shell pattern, which keeps its '*'. */
static enum hv_glob_kind classify(char *text)
{
	enum hv_glob_kind kind = HV_GLOB_FULL;
	size_t len = strlen(text);

	if (isdigit((unsigned char)text[0]))
		return HV_GLOB_INDEX;
	if (strpbrk(text, "[?\\"))
		return HV_GLOB_SHELL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '*')
			continue;
		if (i != 0 && i != len - 1)
			return HV_GLOB_SHELL;
		if (i == 0) {
			kind = HV_GLOB_SUFFIX;
			continue;
		}
		kind = kind == HV_GLOB_SUFFIX ? HV_GLOB_SUBSTRING : HV_GLOB_PREFIX;
		text[i] = '\0';
	}
	return kind;
}

struct hv_glob hv_glob_parse(char *text)
{
	struct hv_glob glob = {.negated = text[0] == '!'};

	if (glob.negated)
		text++;
	glob.kind = classify(text);
	if (glob.kind == HV_GLOB_SUFFIX || glob.kind == HV_GLOB_SUBSTRING)
		text++;
	glob.search = text;
	glob.len_bytes = strlen(text);
	return glob;
}

/* Matches C against a class "[a-z]" or "[!a-z]". A ']' directly after the opening bracket is a
 * member. PAT points after the '['. Returns the text after the class, or NULL if it is not closed:
 * then '[' is an ordinary character. */
static const char *match_class(const char *pat, unsigned char c, bool *ret)
{
	bool inverted = *pat == '!';
	bool matched = false;

	pat += inverted;
	do {
		unsigned char first = (unsigned char)*pat++;
		unsigned char last = first;

		if (first == '\0')
			return NULL;
		if (pat[0] == '-' && pat[1] != ']') {
			last = (unsigned char)pat[1];
			if (last == '\0')
				return NULL;
			pat += 2;
		}
		matched |= first <= c && c <= last;
	} while (*pat != ']');
	*ret = matched != inverted;
	return pat + 1;
}

/* Matches the pattern element at PAT, which is neither the end nor a '*', against C, which is
 * nonzero. Returns the text after the element, or NULL if it does not match. */
static const char *match_element(const char *pat, unsigned char c)
{
	const char *behind;
	bool matched = false;

	if (*pat == '?')
		return pat + 1;
	if (*pat == '[') {
		behind = match_class(pat + 1, c, &matched);
		if (behind)
			return matched ? behind : NULL;
	}
	if (*pat == '\\')
		pat++;
	return (unsigned char)*pat == c ? pat + 1 : NULL;
}

/* If the text after a '*' does not match, only the last '*' has to be extended; earlier ones need
 * no retry. */
static bool match_shell(const char *pat, const char *name)
{
	const char *retry_pat = NULL;
	const char *retry_name = NULL;

	for (;;) {
		const char *behind;

		if (*pat == '*') {
			retry_pat = ++pat;
			retry_name = name;
			continue;
		}
		if (*name == '\0')
			return *pat == '\0' || (pat[0] == '\\' && pat[1] == '\0');
		behind = *pat ? match_element(pat, (unsigned char)*name) : NULL;
		if (behind) {
			pat = behind;
			name++;
			continue;
		}
		if (!retry_pat)
			return false;
		pat = retry_pat;
		name = ++retry_name;
	}
}

bool hv_glob_match(const struct hv_glob *glob, const char *name)
{
	size_t len;

	switch (glob->kind) {
	case HV_GLOB_FULL:
		return strcmp(name, glob->search) == 0;
	case HV_GLOB_PREFIX:
		return strncmp(name, glob->search, glob->len_bytes) == 0;
	case HV_GLOB_SUFFIX:
		len = strlen(name);
		return len >= glob->len_bytes &&
		       strcmp(name + len - glob->len_bytes, glob->search) == 0;
	case HV_GLOB_SUBSTRING:
		return strstr(name, glob->search) != NULL;
	case HV_GLOB_SHELL:
		return match_shell(glob->search, name);
	case HV_GLOB_INDEX:
		return false;
	}
	return false;
}
