// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *error, int code, const char *format, ...)
{
	va_list args;

	if (!error)
		return code;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return code;
}

int error_prefix(struct error *error, int code, const char *format, ...)
{
	char text[sizeof(error->text)];
	size_t used;
	va_list args;

	if (!error)
		return code;
	snprintf(text, sizeof(text), "%s", error->text[0] ? error->text : strerror(-code));
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	used = strlen(error->text);
	if (strncmp(text, error->text, used) == 0) {
		memcpy(error->text, text, sizeof(text));
		return code;
	}
	snprintf(error->text + used, sizeof(error->text) - used, ": %s", text);
	return code;
}
