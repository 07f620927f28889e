// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/patterns/catalogue.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "incidents/kinds.h"
#include "incidents/patterns/kernel-words.h"

#define CONF_LIMIT (1 << 20)
#define CANDIDATES_MAX 32

struct catalogue {
	array_of(struct kind) kinds;
	struct anchors anchors;
};

/*
 * Texts for which the scanner searches besides the anchors. A message that is an array of numbers
 * does not contain an anchor. The first line of a boot matters to the clock.
 */
static const char *const other_anchors[] = { "\"MESSAGE\":[", "\"MESSAGE\": [", "\"MESSAGE\" :[",
					     "\"MESSAGE\" : [", "Linux version " };
#define NO_KIND (UINT32_MAX - 1)

static const char *const severities[] = { "info", "notice", "warn", "err", "crit" };

const char *severity_name(enum severity severity)
{
	return severities[severity];
}

struct source {
	struct catalogue *catalogue;
	/* The path of the pattern file. */
	const char *name;
	unsigned int line;
	char writer[64];
	struct error *error;
};

static int catalogue_refuse(const struct source *source, const char *what, const char *text)
{
	return error_set(source->error, -EINVAL, "%s:%u: %s%s%.40s%s", source->name, source->line,
			 what, *text ? " \"" : "", text, *text ? "\"" : "");
}

/* Returns the next word of a line, NUL-terminated; "" at the end of the line. */
static char *take_word(char **at)
{
	char *word = *at + strspn(*at, " \t"), *end = word + strcspn(word, " \t");

	*at = *end ? end + 1 : end;
	*end = 0;
	return word;
}

static int parse_severity(const struct source *source, const char *text, struct kind *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(severities); i++) {
		if (strcmp(severities[i], text))
			continue;
		kind->severity = i;
		return 0;
	}
	return catalogue_refuse(source, "severity must be crit, err, warn, notice or info, not",
				text);
}

static int parse_stall(const struct source *source, const char *text, struct kind *kind)
{
	if (!strcmp(text, "-"))
		return 0;
	if (duration_parse(text, &kind->stall_ns) < 0)
		return catalogue_refuse(
			source, "stall must be a duration such as 5s or 500ms, or -, not", text);
	return 0;
}

static void kind_done(struct kind *kind)
{
	pattern_done(&kind->pattern);
	free(kind->name);
	free(kind->writer);
}

static int catalogue_parse_name(const struct source *source, const char *text)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (text[size] || !size)
		return catalogue_refuse(source, "kind may contain a-z, 0-9, _, - and . only, not",
					text);
	return 0;
}

static int parse_kind(struct source *source, char *line)
{
	struct kind kind = { 0 };
	const char *name = take_word(&line);
	int r = catalogue_parse_name(source, name);

	if (r < 0)
		return r;
	r = parse_severity(source, take_word(&line), &kind);
	if (r < 0)
		return r;
	r = parse_stall(source, take_word(&line), &kind);
	if (r < 0)
		return r;
	line += strspn(line, " \t");
	r = pattern_init(&kind.pattern, line, source->error);
	if (r == -EINVAL)
		error_prefix(source->error, r, "%s:%u", source->name, source->line);
	if (r < 0)
		return r;
	kind.name = strdup(name);
	kind.writer = strdup(source->writer);
	r = kind.name && kind.writer ? array_push(&source->catalogue->kinds, kind) : -ENOMEM;
	if (r < 0)
		kind_done(&kind);
	return r;
}

/* Parses the heading of a section, such as [kernel]. */
static int parse_writer(struct source *source, char *line)
{
	size_t size = strcspn(line, "]");

	if (size < 2 || line[size] != ']' || line[size + 1] || size > sizeof(source->writer))
		return catalogue_refuse(source, "expected [NAME] or [*], not", line);
	memcpy(source->writer, line + 1, size - 1);
	source->writer[size - 1] = 0;
	return 0;
}

static int parse_text(struct source *source, char *text)
{
	char *line;
	int r = 0;

	strcpy(source->writer, "kernel");
	while (r == 0 && (line = strsep(&text, "\n"))) {
		size_t size = strlen(line);

		source->line++;
		while (size && strchr(" \t\r", line[size - 1]))
			line[--size] = 0;
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		r = *line == '[' ? parse_writer(source, line) : parse_kind(source, line);
	}
	return r;
}

static int load_file(struct catalogue *catalogue, const char *folder, const char *name,
		     struct error *error)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	struct source source = { .catalogue = catalogue, .name = path, .error = error };
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return error_set(error, -ENAMETOOLONG, "%s/%s: path is too long", folder, name);
	r = file_read(path, CONF_LIMIT, &text, NULL);
	if (r < 0)
		return error_set(error, r, "cannot read %s: %s", path, strerror(-r));
	return parse_text(&source, text);
}

static int is_conf(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 5 && entry->d_name[0] != '.' && !strcmp(entry->d_name + size - 5, ".conf");
}

static int load_folder(struct catalogue *catalogue, const char *folder, struct error *error)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_conf, alphasort);
	int r = 0;

	if (count < 0)
		return errno == ENOENT ? 0
				       : error_set(error, -errno, "cannot read %s: %s", folder,
						   strerror(errno));
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = load_file(catalogue, folder, entries[i]->d_name, error);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load_built_in(struct catalogue *catalogue, struct error *error)
{
	_cleanup_free_ char *text = strdup(kinds_conf);
	struct source source = { .catalogue = catalogue, .name = "built-in kinds", .error = error };

	return text ? parse_text(&source, text) : -ENOMEM;
}

int catalogue_new(const char *folder, struct catalogue **ret_catalogue, struct error *error)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = calloc(1, sizeof(*catalogue));
	struct error discarded = { 0 };
	int r;

	if (!error)
		error = &discarded;
	if (!catalogue)
		return -ENOMEM;
	/* the first matching kind wins, so the host's own kinds come before the built-in ones */
	r = folder ? load_folder(catalogue, folder, error) : 0;
	if (r < 0)
		return r;
	r = load_built_in(catalogue, error);
	for (size_t i = 0; r == 0 && i < catalogue->kinds.count; i++) {
		const struct pattern *pattern = &catalogue->kinds.items[i].pattern;

		r = anchors_add(&catalogue->anchors, pattern->anchor, pattern->anchor_size, i);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(other_anchors); i++)
		r = anchors_add(&catalogue->anchors, other_anchors[i], strlen(other_anchors[i]),
				NO_KIND);
	if (r < 0)
		return r;
	anchors_build(&catalogue->anchors);
	*ret_catalogue = take_ptr(catalogue);
	return 0;
}

struct catalogue *catalogue_free(struct catalogue *catalogue)
{
	if (!catalogue)
		return NULL;
	for (size_t i = 0; i < catalogue->kinds.count; i++)
		kind_done(&catalogue->kinds.items[i]);
	array_done(&catalogue->kinds);
	anchors_done(&catalogue->anchors);
	free(catalogue);
	return NULL;
}

const struct anchors *catalogue_anchors(const struct catalogue *catalogue)
{
	return &catalogue->anchors;
}

size_t catalogue_count(const struct catalogue *catalogue)
{
	return catalogue->kinds.count;
}

const struct kind *catalogue_kind(const struct catalogue *catalogue, size_t index)
{
	return &catalogue->kinds.items[index];
}

static bool may_write(const struct kind *kind, const struct message *message)
{
	return !message->writer || !strcmp(kind->writer, "*") ||
	       (strlen(kind->writer) == message->writer_size &&
		!memcmp(kind->writer, message->writer, message->writer_size));
}

/* Collects the kinds whose anchors are in the message, each once, in the catalogue's order. */
static size_t find_candidates(const struct catalogue *catalogue, const struct message *message,
			      uint32_t candidates[CANDIDATES_MAX])
{
	struct anchors_search search;
	size_t count = 0, at;
	uint32_t kind;

	anchors_start(&catalogue->anchors, &search, message->text, message->size);
	while (count < CANDIDATES_MAX &&
	       (kind = anchors_next(&catalogue->anchors, &search, &at)) != UINT32_MAX) {
		size_t place = count;

		if (kind == NO_KIND || !may_write(&catalogue->kinds.items[kind], message))
			continue;
		while (place && candidates[place - 1] > kind)
			place--;
		if (place && candidates[place - 1] == kind)
			continue;
		memmove(candidates + place + 1, candidates + place,
			(count - place) * sizeof(*candidates));
		candidates[place] = kind;
		count++;
	}
	return count;
}

/* Returns whether a match within a kernel message may consist of a user's words. */
static bool catalogue_is_quoted(const struct kind *kind, const struct message *message,
				size_t begin)
{
	if (kernel_words_quote_path(message->text, message->size) ||
	    !kernel_words_only(message->text, begin))
		return true;
	return !kind->pattern.near && kernel_words_name_task(message->text, message->size);
}

/* Tries the candidates in their order. Only a match of a kernel kind can be quoted. */
static const struct kind *match_one(const struct catalogue *catalogue,
				    const struct message *message, const uint32_t *candidates,
				    bool quoted, bool truncated, struct fields *ret_fields)
{
	for (; *candidates != UINT32_MAX; candidates++) {
		const struct kind *kind = &catalogue->kinds.items[*candidates];
		struct fields fields;

		if (!pattern_match(&kind->pattern, message->text, message->size, !message->whole,
				   truncated, &fields))
			continue;
		fields.quoted = !strcmp(kind->writer, "kernel") &&
				catalogue_is_quoted(kind, message, fields.begin);
		if (fields.quoted && !quoted)
			continue;
		*ret_fields = fields;
		return kind;
	}
	return NULL;
}

const struct kind *catalogue_match(const struct catalogue *catalogue, const struct message *message,
				   bool truncated, struct fields *ret_fields)
{
	uint32_t candidates[CANDIDATES_MAX + 1];
	const struct kind *kind = NULL;

	candidates[find_candidates(catalogue, message, candidates)] = UINT32_MAX;
	/* a match in the kernel's own words comes first, so that no quoted text can hide it */
	for (int quoted = 0; !kind && quoted < 2; quoted++)
		for (int cut = 0; !kind && cut <= truncated; cut++)
			kind = match_one(catalogue, message, candidates, quoted, cut, ret_fields);
	return kind;
}
