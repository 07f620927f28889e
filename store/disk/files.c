// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "store/disk/beneath.h"
#include "base/cleanup.h"
#include "base/file.h"

int store_file(const char *path, const char *name, char text[PATH_MAX], struct error *error)
{
	if (snprintf(text, PATH_MAX, "%s/%s", path, name) >= PATH_MAX)
		return error_set(error, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	return 0;
}

mode_t store_umask(const char *path)
{
	const mode_t of_group = S_ISGID | S_IRGRP | S_IXGRP;
	struct stat about;

	return stat(path, &about) == 0 && (about.st_mode & of_group) == of_group ? 0027 : 0077;
}

bool store_name_ends(const char *name, const char *suffix)
{
	size_t size = strlen(name), tail = strlen(suffix);

	return name[0] != '.' && size > tail && size < sizeof(((struct store_segment *)0)->name) &&
	       strcmp(name + size - tail, suffix) == 0;
}

int store_name(const char *boot_id, uint64_t sequence, const char *suffix, char name[64])
{
	if (!*boot_id || *boot_id == '.' || strchr(boot_id, '/') ||
	    snprintf(name, 64, "%.39s-%010llu%s", boot_id, (unsigned long long)sequence, suffix) >=
		    64)
		return -EINVAL;
	return 0;
}

bool store_identify(const char *name, struct store_identity *ret_identity)
{
	const char *dash = strrchr(name, '-');
	char *end;

	if (!dash || dash[1] < '0' || dash[1] > '9')
		return false;
	*ret_identity = (struct store_identity){
		.boot_size = dash - name,
		.sequence = strtoull(dash + 1, &end, 10),
	};
	ret_identity->size = end - name;
	/* our names have a number before the suffix */
	return *end == '.' && ret_identity->sequence != UINT64_MAX;
}

bool store_is_of_boot(const char *name, const char *boot_id, uint64_t *ret_sequence)
{
	struct store_identity identity;

	if (!store_identify(name, &identity) || identity.boot_size != strlen(boot_id) ||
	    memcmp(name, boot_id, identity.boot_size) != 0)
		return false;
	*ret_sequence = identity.sequence;
	return true;
}

bool store_same_tape(const char *name, const char *other)
{
	struct store_identity a, b;

	return store_identify(name, &a) && store_identify(other, &b) && a.size == b.size &&
	       memcmp(name, other, a.size) == 0;
}

int store_open_file(const char *path, const char *folder, const char *name, int *ret_fd,
		    struct error *error)
{
	_cleanup_close_ int fd = -1;
	bool inside = strcmp(folder, ".") != 0;
	char file[PATH_MAX], beneath[PATH_MAX];
	int r;

	if (snprintf(beneath, sizeof(beneath), "%s%s%s", inside ? folder : "", inside ? "/" : "",
		     name) >= (int)sizeof(beneath))
		return error_set(error, -ENAMETOOLONG, "%s: the path is too long", path);
	r = store_file(path, beneath, file, error);
	if (r < 0)
		return r;
	/* not blocking, because the name may be a pipe */
	fd = beneath_open(path, beneath, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0)
		return beneath_error(error, fd, file);
	*ret_fd = take_fd(fd);
	return 0;
}

int store_each_name(const char *path, const char *folder,
		    int (*see)(void *context, const char *name), void *context, struct error *error)
{
	char file[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int r = store_file(path, folder, file, error), fd;

	if (r < 0)
		return r;
	fd = beneath_open(path, folder, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return beneath_error(error, fd, file);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return error_set(error, -ENOMEM, "%s: %s", file, strerror(ENOMEM));
	}
	for (errno = 0; r >= 0 && (entry = readdir(dir)); errno = 0)
		r = see(context, entry->d_name);
	if (r >= 0 && errno)
		r = error_set(error, -errno, "%s: %s", file, strerror(errno));
	closedir(dir);
	return r < 0 ? r : 0;
}

/* Returns whether only stores contain this name. A folder that contains such a name is a store. */
static bool store_has_ours(const char *name)
{
	return strcmp(name, STORE_SEGMENTS) == 0 || strcmp(name, STORE_SPOOLS) == 0 ||
	       strcmp(name, STORE_INDEX) == 0;
}

/* Returns whether a folder with this name may become a store: a store may begin with such files. */
static bool store_is_harmless(const char *name)
{
	static const char *const names[] = {
		".", "..", "lost+found", STORE_NOTES, STORE_NOTES_LOCK, STORE_LOCK
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int store_check_folder(const char *path, struct error *error)
{
	char other[NAME_MAX + 1] = "";
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool ours = false;

	/* not an error here: opening the store reports why its folder cannot be read */
	if (!dir)
		return 0;
	while (!ours && (entry = readdir(dir))) {
		ours = store_has_ours(entry->d_name);
		if (!*other && !store_is_harmless(entry->d_name))
			snprintf(other, sizeof(other), "%s", entry->d_name);
	}
	closedir(dir);
	if (ours || !*other)
		return 0;
	return error_set(error, -ENOTEMPTY,
			 "%s is not a store: it holds other things, such as %s; give a new folder",
			 path, other);
}

int store_check_file(const char *path, struct error *error)
{
	struct stat about;

	if (stat(path, &about) < 0 || !S_ISREG(about.st_mode))
		return 0;
	return error_set(error, -ENOTDIR, "%s: it is a file, not a store; give a folder", path);
}

void store_describe(const struct segment_summary *summary, const char *name, uint64_t bytes,
		    struct store_segment *ret_segment)
{
	*ret_segment = (struct store_segment){
		.sequence = summary->sequence,
		.begin_ns = summary->begin_ns,
		.end_ns = summary->end_ns,
		.perf_begin_ns = summary->perf_begin_ns,
		.perf_end_ns = summary->perf_end_ns,
		.samples = summary->samples,
		.lost = summary->lost,
		.incidents = summary->incidents,
		.bytes = bytes,
	};
	snprintf(ret_segment->name, sizeof(ret_segment->name), "%s", name);
	snprintf(ret_segment->boot_id, sizeof(ret_segment->boot_id), "%s", summary->boot_id);
}
