// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/recorded-facts.h"
#include "base/foreign.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define MORE ", ..."

/*
 * Finds the place of a value in the sorted list. Returns false if the list contains the value. The
 * list is sorted because threads add tapes in any order, and an answer must not change from run to
 * run.
 */
static bool recorded_facts_find(const char *list, const char *value, size_t *ret_at)
{
	size_t at = 0;

	while (list[at]) {
		size_t size = strcspn(list + at, ",");
		int order = strncmp(list + at, value, size);

		if (order == 0 && !value[size])
			return false;
		if (order > 0)
			break;
		at += size + strspn(list + at + size, ", ");
	}
	*ret_at = at;
	return true;
}

/* Replaces commas in a value, because a comma separates the values of the list. */
static void recorded_facts_clean(const char *value, char *text, size_t size)
{
	snprintf(text, size, "%s", value);
	foreign_clean(text);
	for (; *text; text++)
		if (*text == ',')
			*text = '?';
}

static void recorded_facts_add_to(char *list, size_t list_size, const char *fact)
{
	char value[128];
	size_t at, size, used = strlen(list);

	recorded_facts_clean(fact, value, sizeof(value));
	size = strlen(value);
	if (!size || (used >= strlen(MORE) && !strcmp(list + used - strlen(MORE), MORE)) ||
	    !recorded_facts_find(list, value, &at))
		return;
	if (used + size + 2 * strlen(MORE) > list_size) {
		snprintf(list + used, list_size - used, "%s", used ? MORE : "...");
		return;
	}
	if (list[at]) {
		memmove(list + at + size + 2, list + at, used - at + 1);
		memcpy(list + at, value, size);
		memcpy(list + at + size, ", ", 2);
	} else {
		snprintf(list + used, list_size - used, "%s%s", used ? ", " : "", value);
	}
}

void recorded_facts_add_host(struct recorded_facts *facts, const char *host)
{
	recorded_facts_add_to(facts->host, sizeof(facts->host), host);
}

void recorded_facts_add(struct recorded_facts *facts, const struct tape *tape)
{
	recorded_facts_add_host(facts, tape_fact(tape, "host"));
	recorded_facts_add_to(facts->event, sizeof(facts->event), tape_fact(tape, "event"));
	recorded_facts_add_to(facts->frequency, sizeof(facts->frequency),
			      tape_fact(tape, "frequency"));
}

void recorded_facts_put_host(const struct recorded_facts *facts, struct buffer *json)
{
	json_key(json, "host");
	if (*facts->host)
		json_string(json, facts->host);
	else
		json_null(json);
}
