// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/binaries.h"

#include <errno.h>
#include <string.h>

/* Writes "PATH HEX", which identifies a file's content. */
static int binary_text(const struct tape_module *module, const char *path, char *text, size_t size)
{
	int used = snprintf(text, size, "%s ", path);

	for (uint8_t i = 0; i < module->build_id_size && used + 3 < (int)size; i++)
		used += snprintf(text + used, size - used, "%02x", module->build_id[i]);
	return used;
}

static int binaries_see(struct binaries *binaries, const struct tape *tape,
			const struct tape_module *module, bool in_stall)
{
	const char *path = tape_string(tape, module->path);
	char text[512];
	uint32_t id, path_id;
	int r;

	/* a path that does not fit would hide its build-id */
	if (strlen(path) + 2 * TAPE_BUILD_ID_MAX + 2 > sizeof(text))
		return 0;
	binary_text(module, path, text, sizeof(text));
	r = strings_add(&binaries->texts, path, strlen(path), &path_id);
	if (r < 0)
		return r;
	r = strings_add(&binaries->texts, text, strlen(text), &id);
	while (r == 0 && binaries->list.count <= id)
		r = array_push(&binaries->list, (struct binary){ 0 });
	if (r < 0)
		return r;
	binaries->list.items[id].path = path_id;
	binaries->list.items[id].path_and_id = id;
	binaries->list.items[id].in_stall |= in_stall;
	binaries->list.items[id].in_quiet |= !in_stall;
	return 0;
}

int binaries_add(struct binaries *binaries, const struct tape *tape, bool in_stall)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < tape->modules.count; i++) {
		const struct tape_module *module = &tape->modules.items[i];

		if (module->kind == TAPE_MODULE_ELF && module->build_id_size)
			r = binaries_see(binaries, tape, module, in_stall);
	}
	return r;
}

void binaries_done(struct binaries *binaries)
{
	strings_done(&binaries->texts);
	array_done(&binaries->list);
}

/* Returns whether quiet segments have the same path with another build-id. */
static bool binaries_has_other(const struct binaries *binaries, const struct binary *given)
{
	for (size_t i = 0; i < binaries->list.count; i++) {
		const struct binary *binary = &binaries->list.items[i];

		if (binary->in_quiet && binary->path == given->path &&
		    binary->path_and_id != given->path_and_id)
			return true;
	}
	return false;
}

int binaries_find_changed(const struct binaries *binaries, struct evidence *evidence)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < binaries->list.count; i++) {
		const struct binary *binary = &binaries->list.items[i];

		if (!binary->in_stall || binary->in_quiet ||
		    evidence->binary_count == EVIDENCE_NAMED ||
		    !binaries_has_other(binaries, binary))
			continue;
		r = evidence_add_name(evidence, strings_at(&binaries->texts, binary->path_and_id),
				      &evidence->binaries[evidence->binary_count]);
		evidence->binary_count += r == 0;
	}
	return r;
}
