// SPDX-License-Identifier: GPL-2.0-only
#include "import/importer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "unpacker/unpack-helper.h"
#include "recorder/pipeline/pipeline.h"
#include "import/import-clock.h"
#include "import/import-stacks.h"

/*
 * perf writes the rings one after another, and a mark (FINISHED_ROUND) after each round. Records
 * after the mark are not older than the newest record of the round before. So each mark applies
 * everything up to that record. Without a sample, the importer applies records only when GATHER_MAX
 * bytes wait. Without marks, it applies them at the file's end, or when four times GATHER_MAX bytes
 * wait.
 */
#define GATHER_MAX (64u << 20)

/* PERF_RECORD_MISC_LOST_SAMPLES_BPF */
#define MISC_LEFT_OUT_BY_BPF (1u << 15)
#define PROGRESS_STEP (1u << 20)
#define WAITING_MAX 2

struct run {
	struct import_file *file;
	const struct import_options *options;
	struct pipeline pipeline;
	struct pipeline_options pipeline_options;
	struct import_stacks stacks;
	struct sealer_options sealer_options;
	/* one per event */
	array_of(struct pipeline_source) sources;
	/* the event whose layout perf's own MMAP2 records have */
	const struct perf_data_event *synthesized;
	struct pipeline_fact facts[16];
	char boot_id[64], rate[24], cpus[16], clock[64], kernel_text[24], kernel_end[24];
	/* first and last time of the samples so far; UINT64_MAX: no sample yet */
	uint64_t first_ns;
	uint64_t last_ns;
	/* time of the newest record */
	uint64_t newest_ns;
	/* newest_ns at the last mark */
	uint64_t round_ns;
	/* the importer applied everything before this time */
	uint64_t flushed_ns;
	/* lost samples, from perf's counts at the end of the file */
	uint64_t counted;
	bool begun;
	/* the offset of the last call of `progress` */
	uint64_t shown;
};

static void add_fact(struct run *run, const char *key, const char *value)
{
	struct pipeline_fact *fact = run->facts;

	while (fact->key)
		fact++;
	if (value && *value && fact < run->facts + ARRAY_SIZE(run->facts) - 1)
		*fact = (struct pipeline_fact){ key, value };
}

static void collect_facts(struct run *run)
{
	const struct import_file *file = run->file;
	const struct perf_data *perf = &file->perf;
	const char *name = strrchr(file->path, '/');

	snprintf(run->boot_id, sizeof(run->boot_id), "import-%s", file->id);
	snprintf(run->rate, sizeof(run->rate), "%llu", (unsigned long long)file->event->rate);
	snprintf(run->cpus, sizeof(run->cpus), "%u", perf->cpus);
	snprintf(run->clock, sizeof(run->clock), "%s", import_clock_text(file->clock.source));
	add_fact(run, "boot_id", run->boot_id);
	add_fact(run, "host", perf->host);
	add_fact(run, "kernel", perf->release);
	add_fact(run, "event", file->event->name);
	add_fact(run, file->event->by_frequency ? "frequency" : "period", run->rate);
	if (perf->cpus)
		add_fact(run, "cpus", run->cpus);
	add_fact(run, "version", run->options->version);
	add_fact(run, "source", name ? name + 1 : file->path);
	add_fact(run, "clock", run->clock);
	add_fact(run, "kernel_text", run->kernel_text);
	add_fact(run, "kernel_end", run->kernel_end);
}

/* The first tape begins with the first sample. */
static int importer_begin(struct run *run, uint64_t begin_ns)
{
	struct tape_anchor anchor = {
		.perf_ns = begin_ns,
		.realtime_ns = begin_ns + run->file->clock.offset_ns,
		.error_ns = run->file->clock.error_ns,
	};
	int r = pipeline_anchor(&run->pipeline, &anchor);

	collect_facts(run);
	run->begun = true;
	return r == 0 ? pipeline_begin(&run->pipeline, begin_ns) : r;
}

/*
 * Returns the memory of waiting records. Each record has an entry, and a second entry during the
 * sort.
 */
static size_t importer_gathered(const struct run *run)
{
	const struct reorder *reorder = &run->pipeline.reorder;

	return reorder->bytes.size + 2 * reorder->entries.count * sizeof(*reorder->entries.items);
}

static int importer_flush(struct run *run, uint64_t before_ns)
{
	int r = 0;

	if (!run->begun && run->first_ns == UINT64_MAX && importer_gathered(run) < GATHER_MAX)
		return 0; /* wait for the first sample, with which the first tape begins */
	if (!run->begun)
		r = importer_begin(run,
				   run->first_ns == UINT64_MAX ? run->newest_ns : run->first_ns);
	if (r == 0)
		r = pipeline_flush(&run->pipeline, before_ns);
	run->flushed_ns = before_ns;
	return r == 0 ? sealer_wait(run->pipeline_options.sealer, WAITING_MAX) : r;
}

/*
 * Handles a mark. Applies everything up to the newest record of the round before, because no later
 * record is older.
 */
static int finish_round(struct run *run)
{
	uint64_t before_ns = run->round_ns;

	run->round_ns = run->newest_ns;
	return before_ns != run->flushed_ns ? importer_flush(run, before_ns) : 0;
}

/*
 * Notes the addresses of the kernel's code at the time of the recording. Naming compares them with
 * those of the running kernel. Equal addresses identify the kernel; different addresses show by how
 * much the kernel was moved (KASLR).
 */
static void note_kernel(struct run *run, const uint8_t *record, size_t size, uint32_t source)
{
	struct perf_record decoded;

	if (run->kernel_text[0] ||
	    perf_record_decode(run->sources.items[source].layout, record, size, &decoded) != 0 ||
	    decoded.mmap.pid != -1 || strncmp(decoded.mmap.path, "[kernel.kallsyms]", 17) != 0)
		return;
	snprintf(run->kernel_text, sizeof(run->kernel_text), "%llx",
		 (unsigned long long)decoded.mmap.offset);
	snprintf(run->kernel_end, sizeof(run->kernel_end), "%llx",
		 (unsigned long long)(decoded.mmap.start + decoded.mmap.size));
}

static int add_record(struct run *run, const struct perf_data_event *event,
		      const struct perf_record_place *place, const uint8_t *record, size_t size)
{
	uint32_t source = event - run->file->perf.events.items;
	uint64_t time_ns = place->time_ns;
	uint64_t added_ns = run->pipeline.added_ns;
	uint32_t type;

	memcpy(&type, record, sizeof(type));
	if (type == PERF_TYPE_MMAP || type == PERF_TYPE_MMAP2)
		note_kernel(run, record, size, source);
	if (pipeline_add(&run->pipeline, source, place, record, size) < 0)
		return -ENOMEM;
	if (time_ns > MAX(run->pipeline.added_ns, added_ns))
		return 0; /* rejected because of its time, and counted */
	run->newest_ns = MAX(run->newest_ns, time_ns);
	if (type == PERF_TYPE_SAMPLE) {
		run->first_ns = MIN(run->first_ns, time_ns);
		run->last_ns = MAX(run->last_ns, time_ns);
	}
	/* apply everything now, to free memory */
	return importer_gathered(run) < 4ull * GATHER_MAX ? 0
							  : importer_flush(run, run->newest_ns + 1);
}

/*
 * At the end of a file, perf writes the kernel's count of lost samples: one record for each CPU,
 * without a time or the CPU's number. LOST records have reported most of these samples before.
 */
static bool is_total(uint32_t type, const struct perf_record_place *place)
{
	return type == PERF_TYPE_LOST_SAMPLES && !place->time_ns;
}

/* Adds one CPU's total. Samples that a BPF filter left out are not lost. */
static int take_total(struct run *run, const struct perf_data_event *event, const uint8_t *record,
		      size_t size)
{
	struct perf_record decoded;
	uint16_t misc;

	memcpy(&misc, record + sizeof(uint32_t), sizeof(misc));
	if (event != run->file->event || misc & MISC_LEFT_OUT_BY_BPF)
		return 0;
	if (perf_record_decode(&event->layout, record, size, &decoded) != 0)
		return losses_damaged(&run->pipeline.losses, run->newest_ns);
	run->counted += decoded.lost;
	return 0;
}

/* Adds the lost samples that no LOST record reported. Their place in the file is unknown. */
static int add_unreported(struct run *run, uint64_t end_ns)
{
	uint64_t reported = run->pipeline.losses.counts.lost;

	return run->counted <= reported
		       ? 0
		       : losses_lost(&run->pipeline.losses, true, TAPE_ALL_CPUS, run->first_ns,
				     end_ns, run->counted - reported);
}

static void importer_show_progress(struct run *run, uint64_t offset)
{
	if (!run->options->progress || offset - run->shown < PROGRESS_STEP)
		return;
	run->shown = offset;
	run->options->progress(run->options->context, offset, run->file->perf.size);
}

static int importer_take_record(void *context, const uint8_t *record, size_t size, uint64_t offset)
{
	struct run *run = context;
	const struct perf_data_event *event;
	struct perf_record_place place;
	uint32_t type;

	importer_show_progress(run, offset);
	memcpy(&type, record, sizeof(type));
	if (type == PERF_DATA_FINISHED_ROUND)
		return finish_round(run);
	if (type >= PERF_DATA_ATTR)
		return 0;
	place = perf_data_place(&run->file->perf, record, size);
	event = perf_data_event(&run->file->perf, place.id);
	/*
	 * records that perf synthesized do not have an id, and have the layout of any event; add a
	 * sample of an unknown event, so that the pipeline counts it as damaged
	 */
	if (!event)
		event = type == PERF_TYPE_MMAP2 ? run->synthesized : run->file->event;
	if (type == PERF_TYPE_SAMPLE && event != run->file->event)
		return 0;
	return is_total(type, &place) ? take_total(run, event, record, size)
				      : add_record(run, event, &place, record, size);
}

static int importer_prepare(struct run *run, struct store_writer *writer, struct error *error)
{
	const struct perf_data *perf = &run->file->perf;
	int r = pipeline_init(&run->pipeline, &run->pipeline_options);

	run->synthesized = run->file->event;
	for (size_t i = 0; r == 0 && i < perf->events.count; i++) {
		/*
		 * if an event asks the kernel for build-ids, perf puts build-ids into its own
		 * records, too
		 */
		if (perf->events.items[i].layout.build_id)
			run->synthesized = &perf->events.items[i];
		r = array_push(&run->sources,
			       (struct pipeline_source){ .layout = &perf->events.items[i].layout,
							 .samples = true });
	}
	for (size_t i = 0; r == 0 && i < perf->build_ids.count; i++)
		r = modules_add_build_id(&run->pipeline.tracker.modules,
					 perf->build_ids.items[i].path, perf->build_ids.items[i].id,
					 perf->build_ids.items[i].size);
	if (r == 0)
		r = import_stacks_init(&run->stacks, run->file, run->options,
				       &run->pipeline.tracker);
	if (r < 0)
		return error_set(error, r, "out of memory");
	run->pipeline_options = (struct pipeline_options){
		.segment_ns = run->options->segment_ns,
		.sources = run->sources.items,
		.facts = run->facts,
		.imported = true,
		.dumps = run->stacks.dumps,
	};
	run->sealer_options.finder.debug_dir = run->options->debug_dir;
	return sealer_start(writer, &run->sealer_options, &run->pipeline_options.sealer, error);
}

static int importer_read_all(struct run *run, struct unpack_helper **stream,
			     struct import_result *result, struct error *error)
{
	struct error note = { 0 };
	uint64_t end_ns;
	int r = perf_data_read(&run->file->perf, stream, importer_take_record, run, &note);

	if (r < 0 || r == PERF_DATA_CONTINUES)
		return error_set(error, r < 0 ? r : -EBADMSG, "%s: %s", run->file->path,
				 note.text[0] ? note.text : strerror(-r));
	if (r == 1)
		snprintf(result->note, sizeof(result->note), "%s", note.text);
	else if (run->file->truncated)
		snprintf(result->note, sizeof(result->note),
			 "the packed file is truncated or damaged; everything before is kept");
	r = importer_flush(run, run->round_ns);
	end_ns = run->last_ns + 1;
	if (mutated("close-gaps"))
		end_ns += 10 * NSEC_PER_SEC;
	if (r < 0 || !run->begun || run->first_ns == UINT64_MAX)
		return r < 0 ? error_set(error, r, "%s: out of memory", run->file->path) : 0;
	r = add_unreported(run, end_ns);
	if (r == 0)
		r = pipeline_end(&run->pipeline, end_ns, NULL);
	return r < 0 ? error_set(error, r, "%s: out of memory", run->file->path) : 0;
}

/*
 * Adds a note when the header's times were wrong, because import-clock.c derives the wall clock
 * from these times.
 */
static void note_times(const struct run *run, struct import_result *result)
{
	struct import_file *file = run->file;
	bool claimed = run->first_ns + NSEC_PER_SEC >= file->first_ns &&
		       run->last_ns <= file->last_ns + NSEC_PER_SEC;

	if (!claimed && !result->note[0])
		snprintf(result->note, sizeof(result->note),
			 "the times in its header are wrong, and the wall clock may be");
	file->first_ns = run->first_ns;
	file->last_ns = run->last_ns;
}

int import_file_run(struct import_file *file, const struct import_options *options,
		    struct store_writer *writer, struct unpack_helper **stream,
		    struct import_result *ret_result, struct error *error)
{
	struct run run = { .file = file, .options = options, .first_ns = UINT64_MAX };
	struct import_result result = { 0 };
	struct sealer_status status = { 0 };
	int r = importer_prepare(&run, writer, error);

	if (r == 0)
		r = importer_read_all(&run, stream, &result, error);
	sealer_stop(run.pipeline_options.sealer, &status);
	if (status.failed)
		r = error_set(error, status.failed, "%s", status.error.text);
	result.samples = run.pipeline.samples;
	result.lost = run.pipeline.losses.counts.lost;
	result.damaged = run.pipeline.losses.counts.damaged;
	result.truncated = run.pipeline.losses.counts.truncated;
	result.segments = status.segments;
	result.bytes = status.bytes;
	if (result.samples)
		note_times(&run, &result);
	import_stacks_done(&run.stacks);
	pipeline_done(&run.pipeline);
	array_done(&run.sources);
	if (r < 0)
		return r;
	*ret_result = result;
	return 0;
}
