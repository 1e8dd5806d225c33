/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of record that other verbs pass on. */
#include "cli/verbs/record.h"

const char *record_word(int option)
{
	static const struct {
		int option;
		const char *word;
	} words[] = {{'p', "-p"},      {'e', "-e"},
		     {'f', "-f"},      {'k', "-k"},
		     {'M', "--marks"}, {'D', "--date"},
		     {'l', "-l"},      {'n', "-n"},
		     {'g', "-g"},      {'P', "-P"},
		     {'j', "--json"},  {'H', "--host-time"},

		     {'T', "--for"},   {'O', "--max-overhead"}};

	for (size_t i = 0; i < HV_ARRAY_LEN(words); i++)
		if (words[i].option == option)
			return words[i].word;
	return NULL;
}
