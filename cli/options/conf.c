// SPDX-License-Identifier: GPL-2.0-only
#include "cli/options/conf.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cli/options/did-you-mean.h"

#define FILE_MAX_BYTES (1u << 20)

/* Commands that have a section in the settings file: the commands that run unattended. */
static const struct command *const sections[] = { &command_record };

/* These options apply to one call, so they are not settings. */
static const char *const not_settings[] = { "config", "help", "version", "force", "forecast" };

void conf_done(struct conf *settings)
{
	array_done(&settings->list);
	free(settings->text);
	settings->text = NULL;
}

static char *conf_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static const struct option *options_of(const struct command *section)
{
	return section ? section->options : global_options;
}

static bool is_setting(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(not_settings); i++)
		if (strcmp(not_settings[i], name) == 0)
			return false;
	return true;
}

static const struct option *conf_find_option(const struct command *section, const char *name)
{
	for (const struct option *option = options_of(section); option->name; option++)
		if (strcmp(option->name, name) == 0 && is_setting(name))
			return option;
	return NULL;
}

static int unknown_setting(const struct command *section, const char *name, struct error *error)
{
	struct did_you_mean did_you_mean;

	if (!section && conf_find_option(&command_record, name))
		return error_set(error, -EINVAL,
				 "'%s' is a setting of record; write it after a line [record]",
				 name);
	did_you_mean_init(&did_you_mean, name);
	for (const struct option *option = options_of(section); option->name; option++)
		if (is_setting(option->name))
			did_you_mean_offer(&did_you_mean, option->name);
	if (did_you_mean.best)
		return error_set(error, -EINVAL, "unknown setting '%s'; did you mean '%s'?", name,
				 did_you_mean.best);
	return error_set(error, -EINVAL, "unknown setting '%s'", name);
}

static int conf_read_section(char *line, const struct command **section, struct error *error)
{
	size_t size = strlen(line);

	if (line[size - 1] != ']')
		return error_set(error, -EINVAL, "'%s' does not end in ]", line);
	line[size - 1] = 0;
	line = conf_trim(line + 1);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (strcmp(sections[i]->name, line) == 0) {
			*section = sections[i];
			return 0;
		}
	return error_set(error, -EINVAL, "unknown section [%s]; use [record]", line);
}

static int read_flag(const char *name, const char **value, struct error *error)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (strcmp(yes[i], *value) == 0) {
			*value = "";
			return 0;
		}
		if (strcmp(no[i], *value) == 0) {
			*value = NULL;
			return 0;
		}
	}
	return error_set(error, -EINVAL, "%s is yes or no, not '%s'", name, *value);
}

static int read_setting(struct conf *settings, char *line, unsigned int number,
			const struct command *section, struct error *error)
{
	struct conf_row setting = { .section = section ? section->name : NULL, .line = number };
	char *value = strchr(line, '='), *name;
	int r = 0;

	if (!value)
		return error_set(error, -EINVAL, "'%s' is not a setting; write name = value", line);
	*value++ = 0;
	name = conf_trim(line);
	setting.value = conf_trim(value);
	setting.option = conf_find_option(section, name);
	if (!setting.option)
		return unknown_setting(section, name, error);
	if (!setting.option->argument)
		r = read_flag(name, &setting.value, error);
	else if (!*setting.value)
		r = error_set(error, -EINVAL, "%s needs a value: %s", name,
			      setting.option->argument);
	return r < 0 ? r : array_push(&settings->list, setting);
}

/*
 * Cuts a comment off a line. A # begins a comment only at the start of the line or after a blank,
 * because a value may contain a #.
 */
static void conf_cut_comment(char *line)
{
	for (char *at = strchr(line, '#'); at; at = strchr(at + 1, '#'))
		if (at == line || isspace((unsigned char)at[-1])) {
			*at = 0;
			return;
		}
}

static int read_line(struct conf *settings, char *line, unsigned int number,
		     const struct command **section, struct error *error)
{
	int r = 0;

	conf_cut_comment(line);
	line = conf_trim(line);
	if (*line == '[')
		r = conf_read_section(line, section, error);
	else if (*line && *line != '#' && *line != ';')
		r = read_setting(settings, line, number, *section, error);
	return r < 0 ? error_prefix(error, r, "%s:%u", settings->path, number) : 0;
}

int conf_read(const char *path, bool required, struct conf *ret_settings, struct error *error)
{
	struct conf settings = { .path = path };
	const struct command *section = NULL;
	unsigned int number = 0;
	char *next, *line;
	int r = file_read(path, FILE_MAX_BYTES, &settings.text, NULL);

	if (r == -ENOENT && !required) {
		*ret_settings = settings;
		return 0;
	}
	if (r < 0)
		return error_set(error, r, "%s: %s", path, strerror(-r));
	next = settings.text;
	while (r == 0 && (line = strsep(&next, "\n")))
		r = read_line(&settings, line, ++number, &section, error);
	if (r < 0)
		conf_done(&settings);
	else
		*ret_settings = settings;
	return r;
}

const struct conf_row *conf_find(const struct conf *settings, const struct command *command,
				 const char *name)
{
	for (size_t i = settings->list.count; i-- > 0;) {
		const struct conf_row *setting = &settings->list.items[i];

		if (strcmp(setting->option->name, name) == 0 &&
		    (!setting->section ||
		     (command && strcmp(setting->section, command->name) == 0)))
			return setting;
	}
	return NULL;
}
