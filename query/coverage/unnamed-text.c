// SPDX-License-Identifier: GPL-2.0-only
#include "query/coverage/unnamed-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/json.h"

/*
 * In the name of a fact, this text precedes a reason; the value of the fact is the path of a
 * module.
 */
#define OF_MODULE TAPE_UNNAMED " "
#define UNMAPPED "in no known mapping"

static void unnamed_text_add_reason(struct unnamed_text *unnamed, const char *why, size_t size,
				    uint64_t frames)
{
	size_t i = 0;

	while (i < unnamed->count &&
	       (strncmp(unnamed->items[i].why, why, size) != 0 || unnamed->items[i].why[size]))
		i++;
	if (i == UNNAMED_TEXT_MAX) {
		i--;
		snprintf(unnamed->items[i].why, sizeof(unnamed->items[i].why), UNNAMED_TEXT_OTHER);
	} else if (i == unnamed->count) {
		memcpy(unnamed->items[i].why, why, size);
		unnamed->items[i].why[size] = 0;
		unnamed->items[i].frames = 0;
		unnamed->count++;
	}
	unnamed->items[i].frames += frames;
}

/*
 * Returns whether the text may be a reason. An attacker may have written the tape, so this
 * function refuses hidden characters.
 */
static bool unnamed_text_is_reason(const char *text, size_t size)
{
	uint32_t code = ' ';

	for (size_t at = 0; at < size && !foreign_is_hidden(code);)
		at += foreign_take(text + at, size - at, &code);
	if (foreign_is_hidden(code))
		return false;
	return size && size < sizeof(((struct unnamed_text *)NULL)->items[0].why);
}

/*
 * Returns an array with an entry for each string of the tape. If the string is a module's path and
 * the value of such a fact, the entry is the number of the fact plus 1; otherwise the entry is 0.
 */
static uint32_t *find_facts(const struct tape *tape)
{
	uint32_t *facts = calloc(strings_count(&tape->strings), sizeof(*facts));

	for (size_t i = 0; facts && i < tape->facts.count; i++) {
		const struct tape_fact *fact = &tape->facts.items[i];

		if (strncmp(tape_string(tape, fact->key), OF_MODULE, strlen(OF_MODULE)) == 0)
			facts[fact->value] = i + 1;
	}
	return facts;
}

/*
 * Finds the reason in a segment of an older version: the only reason in its totals besides
 * UNMAPPED. Returns the size of the reason, or 0 if there are several.
 */
static size_t find_only_reason(const struct tape *tape, const char **ret_why)
{
	const char *fact = tape_fact(tape, TAPE_UNNAMED);
	size_t found = 0;

	while (*fact) {
		size_t size = strcspn(fact, ",");
		const char *why = fact + strspn(fact, "0123456789");
		size_t left = fact + size - why;

		if (why > fact && *why == ' ' && unnamed_text_is_reason(why + 1, left - 1) &&
		    (left - 1 != strlen(UNMAPPED) || memcmp(why + 1, UNMAPPED, left - 1) != 0)) {
			if (found)
				return 0;
			*ret_why = why + 1;
			found = left - 1;
		}
		fact += size;
		fact += strspn(fact, ", ");
	}
	return found;
}

/*
 * Adds frames of the module with this path. UNNAMED_TEXT_UNMAPPED stands for frames outside of all
 * modules.
 */
static void unnamed_text_put_path(struct unnamed_text *unnamed, const struct tape *tape,
				  const uint32_t *facts, uint32_t path, uint64_t frames)
{
	const char *why = NULL;
	size_t size;

	if (path == UNNAMED_TEXT_UNMAPPED)
		why = UNMAPPED;
	else if (facts[path])
		why = tape_string(tape, tape->facts.items[facts[path] - 1].key) + strlen(OF_MODULE);
	size = why ? strlen(why) : find_only_reason(tape, &why);
	if (size && unnamed_text_is_reason(why, size))
		unnamed_text_add_reason(unnamed, why, size, frames);
	else
		unnamed_text_add_reason(unnamed, UNNAMED_TEXT_OTHER, strlen(UNNAMED_TEXT_OTHER),
					frames);
}

int unnamed_text_add(struct unnamed_text *unnamed, const struct tape *tape, const uint64_t *frames)
{
	_cleanup_free_ uint32_t *facts = find_facts(tape);

	for (size_t i = 0; facts && i < tape->modules.count; i++) {
		const struct tape_module *module = &tape->modules.items[i];

		if (frames[i])
			unnamed_text_put_path(unnamed, tape, facts,
					      module->kind == TAPE_MODULE_UNKNOWN
						      ? UNNAMED_TEXT_UNMAPPED
						      : module->path,
					      frames[i]);
	}
	return facts ? 0 : -ENOMEM;
}

int unnamed_text_add_path(struct unnamed_text *unnamed, const struct tape *tape, uint32_t path,
			  uint64_t frames)
{
	_cleanup_free_ uint32_t *facts = find_facts(tape);

	if (!facts)
		return -ENOMEM;
	unnamed_text_put_path(unnamed, tape, facts, path, frames);
	return 0;
}

void unnamed_text_merge(struct unnamed_text *unnamed, const struct unnamed_text *other)
{
	for (size_t i = 0; i < other->count; i++)
		unnamed_text_add_reason(unnamed, other->items[i].why, strlen(other->items[i].why),
					other->items[i].frames);
}

void unnamed_text_describe(const struct unnamed_text *unnamed, struct buffer *text)
{
	for (size_t i = 0; i < unnamed->count; i++)
		buffer_printf(text, "%s%" PRIu64 " %s", i ? ", " : "", unnamed->items[i].frames,
			      unnamed->items[i].why);
}

void unnamed_text_put_json(const struct unnamed_text *unnamed, struct buffer *json)
{
	json_open(json, '{');
	for (size_t i = 0; i < unnamed->count; i++) {
		json_key(json, unnamed->items[i].why);
		json_u64(json, unnamed->items[i].frames);
	}
	json_close(json, '}');
}
