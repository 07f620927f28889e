// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>

#include "store/disk/beneath.h"
#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/spool-dir.h"
#include "store/write/writer.h"

void spool_files_close(struct store_writer *writer)
{
	for (size_t i = 0; i < writer->open.count; i++)
		close(writer->open.items[i].fd);
	array_done(&writer->open);
}

static int spool_files_path(const struct store_writer *writer, const char *boot_id,
			    uint64_t sequence, const char *suffix, char path[PATH_MAX],
			    struct error *error)
{
	char name[64];

	if (store_name(boot_id, sequence, suffix, name) < 0)
		return error_set(error, -EINVAL, "not a boot id: \"%s\"", boot_id);
	return store_file(writer->spools, name, path, error);
}

static int spool_path(const struct store_writer *writer, const char *boot_id, uint64_t sequence,
		      char path[PATH_MAX], struct error *error)
{
	return spool_files_path(writer, boot_id, sequence, STORE_SPOOL_SUFFIX, path, error);
}

static int spool_files_add(struct store_writer *writer, const struct spool_file *file)
{
	int r = file_sync_dir(writer->spools);

	return r < 0 ? r : array_push(&writer->open, *file);
}

/* Creates a spool. Its name must be on the disk before its content counts. */
static int spool_files_open_spool(struct store_writer *writer, uint64_t sequence, const char *path,
				  struct error *error)
{
	struct spool_file file = { .sequence = sequence, .torn = true };
	int r;

	file.fd = beneath_open(writer->spools, strrchr(path, '/') + 1, O_WRONLY | O_CREAT,
			       STORE_FILE_MODE);
	if (file.fd < 0)
		return error_set(error, file.fd, "%s: %s", path, strerror(-file.fd));
	r = spool_files_add(writer, &file);
	if (r < 0) {
		close(file.fd);
		unlink(path);
		return error_set(error, r, "%s: %s", path, strerror(-r));
	}
	return 0;
}

static struct spool_file *find_spool(struct store_writer *writer, uint64_t sequence)
{
	for (size_t i = 0; i < writer->open.count; i++)
		if (writer->open.items[i].sequence == sequence)
			return &writer->open.items[i];
	return NULL;
}

/*
 * Appends at the known size. After a failed sync, the kernel considers the pages written, so the
 * next try writes the same bytes again.
 */
static int spool_files_append(struct spool_file *file, const void *bytes, size_t size)
{
	int r;

	if (file->torn && ftruncate(file->fd, file->size) < 0)
		return -errno;
	file->torn = true;
	r = file_write_at(file->fd, bytes, size, file->size);
	if (r < 0)
		return r;
	if (fdatasync(file->fd) < 0)
		return -errno;
	file->torn = false;
	file->size += size;
	return 0;
}

static int write_spool(struct store_writer *writer, uint64_t sequence, const void *bytes,
		       size_t size, struct error *error)
{
	struct spool_file *file = find_spool(writer, sequence);
	char path[PATH_MAX];
	int r = spool_path(writer, writer->boot_id, sequence, path, error);

	if (r < 0)
		return r;
	if (!file) {
		if (writer->closed[sequence % WRITER_CLOSED] == sequence + 1)
			return 0;
		if (!store_writer_holds(writer, sequence))
			return 1;
		r = spool_files_open_spool(writer, sequence, path, error);
		file = find_spool(writer, sequence);
	}
	if (r < 0)
		return r;
	r = spool_files_append(file, bytes, size);
	return r < 0 ? error_set(error, r, "%s: %s", path, strerror(-r)) : 0;
}

static int spool_files_write(struct store_writer *writer, uint64_t sequence, const void *bytes,
			     size_t size, struct error *error)
{
	int r = writer_ensure_lock(writer, error);

	return r < 0 ? r : write_spool(writer, sequence, bytes, size, error);
}

int store_writer_spool(struct store_writer *writer, uint64_t sequence, const void *bytes,
		       size_t size, struct error *error)
{
	int r;

	pthread_mutex_lock(&writer->spool_lock);
	r = spool_files_write(writer, sequence, bytes, size, error);
	pthread_mutex_unlock(&writer->spool_lock);
	return r;
}

bool store_writer_holds(const struct store_writer *writer, uint64_t sequence)
{
	return sequence >= atomic_load(&writer->renumber_below);
}

void spool_files_remove(struct store_writer *writer, const char *boot_id, uint64_t sequence)
{
	struct spool_file *file;
	char path[PATH_MAX];

	pthread_mutex_lock(&writer->spool_lock);
	if (strcmp(boot_id, writer->boot_id) == 0) {
		writer->closed[sequence % WRITER_CLOSED] = sequence + 1;
		file = find_spool(writer, sequence);
		if (file) {
			close(file->fd);
			*file = writer->open.items[--writer->open.count];
		}
	}
	if (spool_path(writer, boot_id, sequence, path, NULL) == 0)
		unlink(path);
	if (spool_files_path(writer, boot_id, sequence, STORE_NAMING_SUFFIX, path, NULL) == 0)
		unlink(path);
	pthread_mutex_unlock(&writer->spool_lock);
}

void store_writer_forget(struct store_writer *writer, uint64_t sequence)
{
	spool_files_remove(writer, writer->boot_id, sequence);
}

int store_writer_load_spool(struct store_writer *writer, uint64_t sequence, struct tape **ret_tape,
			    struct error *error)
{
	struct spool_dir_writer us = { .there = true,
				       .pid = getpid(),
				       .first = writer->first_sequence };
	struct spool_end end;
	char name[64];

	snprintf(us.boot_id, sizeof(us.boot_id), "%s", writer->boot_id);
	if (store_name(writer->boot_id, sequence, STORE_SPOOL_SUFFIX, name) < 0)
		return error_set(error, -EINVAL, "not a boot id: \"%s\"", writer->boot_id);
	return spool_dir_load(writer->path, name, &us, ret_tape, &end, error);
}

/* Creates the mark. Returns 1 if it exists. */
static int make_mark(const struct store_writer *writer, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (fd < 0)
		return errno == EEXIST ? 1 : -errno;
	return file_sync_dir(writer->spools);
}

/*
 * A tape whose seal failed gets the mark again. A mark that this writer made does not count as a
 * failed attempt; an earlier writer's mark counts at each try.
 */
int store_writer_mark_naming(struct store_writer *writer, const struct tape *tape,
			     struct error *error)
{
	const char *boot_id = tape_fact(tape, "boot_id");
	bool ours = (!*boot_id || strcmp(boot_id, writer->boot_id) == 0) &&
		    tape->sequence >= writer->first_sequence;
	char path[PATH_MAX];
	uint32_t id;
	int r;

	r = spool_files_path(writer, *boot_id ? boot_id : writer->boot_id, tape->sequence,
			     STORE_NAMING_SUFFIX, path, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&writer->spool_lock);
	r = writer_ensure_lock(writer, error);
	if (r == 0)
		r = make_mark(writer, path);
	pthread_mutex_unlock(&writer->spool_lock);
	if (r == 0 && !ours && strings_add(&writer->marked, path, strlen(path), &id) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	if (r < 0)
		return *error->text ? r : error_set(error, r, "%s: %s", path, strerror(-r));
	return r == 1 && !ours && !strings_find(&writer->marked, path, strlen(path));
}
