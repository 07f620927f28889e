// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-dictionary.h"

#include "tape/segment/grouping.h"

/*
 * The size of pseudo-functions, minus 1, in a module without symbols. In 4 KB, the ranks of frames
 * are small numbers.
 */
#define PAGE_MASK 4095ull

/* A used frame that does not belong to a function yet. */
struct used_frame {
	uint64_t start;
	uint32_t module;
	uint32_t frame;
};

/*
 * The uses of one of the tape's frames: the number of stacks that have it as a caller, and of
 * samples that have it as a leaf.
 */
struct frame_uses {
	uint32_t sites;
	uint32_t leaves;
};

static uint64_t frame_start(const struct tape_frame *frame)
{
	return frame->symbol ? frame->address - frame->offset : frame->address & ~PAGE_MASK;
}

static void count_uses(const struct tape *tape, uint8_t *used_stacks, struct frame_uses *uses)
{
	for (size_t i = 0; i < tape->samples.count; i++) {
		used_stacks[tape->samples.items[i].stack] = 1;
		uses[tape->samples.items[i].frame].leaves++;
	}
	/* parents have smaller numbers */
	for (size_t i = tape->stacks.count; i-- > 1;) {
		if (!used_stacks[i])
			continue;
		used_stacks[tape->stacks.items[i].parent] = 1;
		uses[tape->stacks.items[i].frame].sites++;
	}
}

static int segment_dictionary_compare_used(const void *a, const void *b, void *context)
{
	const struct tape_frame *frames = context;
	const struct used_frame *left = a, *right = b;
	const struct tape_frame *x = &frames[left->frame], *y = &frames[right->frame];

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Sorts the used frames by function; omits the frames of module 0. The caller frees *ret_used. */
static int sort_used(const struct tape *tape, const struct frame_uses *uses,
		     struct used_frame **ret_used, size_t *ret_count)
{
	struct used_frame *used;
	size_t count = 0;

	used = malloc((tape->frames.count + 1) * sizeof(*used));
	if (!used)
		return -ENOMEM;
	for (uint32_t i = 0; i < tape->frames.count; i++) {
		const struct tape_frame *frame = &tape->frames.items[i];

		if (frame->module && (uses[i].sites || uses[i].leaves))
			used[count++] = (struct used_frame){ frame_start(frame), frame->module, i };
	}
	qsort_r(used, count, sizeof(*used), segment_dictionary_compare_used, tape->frames.items);
	*ret_used = used;
	*ret_count = count;
	return 0;
}

struct by_use {
	uint32_t frame;
	uint32_t uses;
	uint64_t offset;
};

static int compare_use(const void *a, const void *b)
{
	const struct by_use *left = a, *right = b;

	if (left->uses != right->uses)
		return left->uses > right->uses ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Encodes the sites or leaves of one function, the most used first. */
static int put_places(struct dictionary *dictionary, struct by_use *list, size_t count, bool leaves)
{
	struct buffer *column = leaves ? &dictionary->leaves : &dictionary->sites;

	if (count)
		qsort(list, count, sizeof(*list), compare_use);
	for (size_t i = 0; i < count; i++) {
		struct dictionary_place *place = &dictionary->places[list[i].frame];

		buffer_varint(column, list[i].offset);
		place->function = dictionary->functions.count - 1;
		if (leaves)
			place->leaf = i;
		else
			place->site = i;
	}
	return buffer_failed(column) ? -ENOMEM : 0;
}

/* Adds a function whose frames are used[0] to used[count - 1]. */
static int segment_dictionary_add_function(struct dictionary *dictionary, const struct tape *tape,
					   const struct used_frame *used, size_t count,
					   const struct frame_uses *uses, struct by_use *scratch)
{
	struct dictionary_function function = {
		.module = used->module,
		.start = used->start,
		.symbol = tape->frames.items[used->frame].symbol,
	};

	if (array_push(&dictionary->functions, function) < 0)
		return -ENOMEM;
	for (int leaves = 0; leaves <= 1; leaves++) {
		struct dictionary_function *added =
			&dictionary->functions.items[dictionary->functions.count - 1];
		size_t listed = 0;

		for (size_t i = 0; i < count; i++) {
			uint32_t frame = used[i].frame;
			uint32_t times = leaves ? uses[frame].leaves : uses[frame].sites;
			uint64_t offset = tape->frames.items[frame].address - function.start;

			if (times)
				scratch[listed++] = (struct by_use){ frame, times, offset };
			if (!leaves)
				added->uses += times;
		}
		*(leaves ? &added->leaves : &added->sites) = listed;
		if (put_places(dictionary, scratch, listed, leaves) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int group_frames(struct dictionary *dictionary, const struct tape *tape,
			const struct frame_uses *uses)
{
	_cleanup_free_ struct used_frame *used = NULL;
	_cleanup_free_ struct by_use *scratch = NULL;
	struct dictionary_function unknown = { 0 };
	size_t count, end;
	int r;

	r = sort_used(tape, uses, &used, &count);
	if (r < 0)
		return r;
	scratch = malloc((count + 1) * sizeof(*scratch));
	for (size_t i = 0; i < tape->frames.count; i++)
		if (!tape->frames.items[i].module)
			unknown.uses += uses[i].sites;
	if (!scratch || array_push(&dictionary->functions, unknown) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i = end) {
		uint32_t symbol = tape->frames.items[used[i].frame].symbol;

		for (end = i + 1; end < count; end++)
			if (used[end].module != used[i].module ||
			    used[end].start != used[i].start ||
			    tape->frames.items[used[end].frame].symbol != symbol)
				break;
		r = segment_dictionary_add_function(dictionary, tape, &used[i], end - i, uses,
						    scratch);
		if (r < 0)
			return r;
	}
	return 0;
}

int dictionary_build(struct dictionary *dictionary, const struct tape *tape)
{
	_cleanup_free_ struct frame_uses *uses = calloc(tape->frames.count, sizeof(*uses));

	*dictionary = (struct dictionary){ 0 };
	dictionary->places = calloc(tape->frames.count, sizeof(*dictionary->places));
	dictionary->used_stacks = calloc(tape->stacks.count, 1);
	if (!uses || !dictionary->places || !dictionary->used_stacks)
		return -ENOMEM;
	count_uses(tape, dictionary->used_stacks, uses);
	return group_frames(dictionary, tape, uses);
}

void dictionary_done(struct dictionary *dictionary)
{
	array_done(&dictionary->functions);
	free(dictionary->places);
	free(dictionary->used_stacks);
	buffer_done(&dictionary->sites);
	buffer_done(&dictionary->leaves);
}

/*
 * Returns twice the binary logarithm of the uses: a function with 1.4 times the uses weighs one
 * more.
 */
static uint8_t function_weight(uint64_t uses)
{
	uint8_t bits = uses ? 64 - __builtin_clzll(uses) : 0;

	return 2 * bits + (bits > 1 ? uses >> (bits - 2) & 1 : 0);
}

/*
 * Sorts function numbers by weight, the heaviest first, then by number. The caller frees
 * *ret_by_rank.
 */
static int rank_functions(const uint8_t *weights, size_t count, uint32_t **ret_by_rank)
{
	_cleanup_free_ uint32_t *order = malloc(count * sizeof(*order));
	_cleanup_free_ uint32_t *scratch = malloc(count * sizeof(*order));
	_cleanup_free_ uint32_t *keys = calloc(count, sizeof(*keys));

	if (!order || !scratch || !keys)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		keys[i] = 255 - weights[i];
	group_start(order, count);
	group_by(order, scratch, count, keys);
	*ret_by_rank = take_ptr(order);
	return 0;
}

int dictionary_rank(struct dictionary *dictionary)
{
	size_t count = dictionary->functions.count;
	_cleanup_free_ uint8_t *weights = calloc(count, 1);
	_cleanup_free_ uint32_t *by_rank = NULL;
	int r;

	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		weights[i] = function_weight(dictionary->functions.items[i].uses);
	r = rank_functions(weights, count, &by_rank);
	for (size_t i = 0; r == 0 && i < count; i++)
		dictionary->functions.items[by_rank[i]].rank = i;
	return r;
}

/* Encodes each module's row, and the number of its functions. */
static int segment_dictionary_encode_modules(const struct dictionary *dictionary,
					     struct encoding *encoding, struct buffer *counts)
{
	_cleanup_(buffer_done) struct buffer column = { 0 };
	const struct dictionary_function *functions = dictionary->functions.items;
	struct string_column paths = { 0 };
	size_t end;

	for (size_t i = 1; i < dictionary->functions.count; i = end) {
		const struct tape_module *module =
			&encoding->tape->modules.items[functions[i].module];

		for (end = i + 1; end < dictionary->functions.count; end++)
			if (functions[end].module != functions[i].module)
				break;
		buffer_varint(counts, end - i);
		string_column_put(&paths, encoding, &column, module->path);
		buffer_u8(&column, module->kind);
		buffer_u8(&column, module->build_id_size);
		buffer_bytes(&column, module->build_id, module->build_id_size);
		buffer_varint(&column, module->device);
		buffer_varint(&column, module->inode);
	}
	return encoding_column(encoding, &column, "modules", CONTENTS_INCOMPATIBLE);
}

/* The columns of functions, without the offsets of their frames. */
struct function_columns {
	struct buffer counts, starts, symbols, sites, leaves, weights;
};

static void function_columns_done(struct function_columns *columns)
{
	buffer_done(&columns->counts);
	buffer_done(&columns->starts);
	buffer_done(&columns->symbols);
	buffer_done(&columns->sites);
	buffer_done(&columns->leaves);
	buffer_done(&columns->weights);
}

static void put_functions(const struct dictionary *dictionary, struct encoding *encoding,
			  struct function_columns *columns)
{
	const struct dictionary_function *functions = dictionary->functions.items;
	struct string_column symbols = { 0 };

	buffer_u8(&columns->weights, function_weight(functions[0].uses));
	for (size_t i = 1; i < dictionary->functions.count; i++) {
		const struct dictionary_function *function = &functions[i];
		bool follows = function->module == functions[i - 1].module;

		buffer_varint(&columns->starts,
			      function->start - (follows ? functions[i - 1].start : 0));
		string_column_put(&symbols, encoding, &columns->symbols, function->symbol);
		buffer_varint(&columns->sites, function->sites);
		buffer_varint(&columns->leaves, function->leaves);
		buffer_u8(&columns->weights, function_weight(function->uses));
	}
}

int dictionary_encode(const struct dictionary *dictionary, struct encoding *encoding)
{
	_cleanup_(function_columns_done) struct function_columns columns = { 0 };
	const struct buffer *order[] = { &columns.counts,    &columns.starts,	 &columns.symbols,
					 &columns.sites,     &columns.leaves,	 &columns.weights,
					 &dictionary->sites, &dictionary->leaves };
	struct section_writer writer;
	int r;

	r = segment_dictionary_encode_modules(dictionary, encoding, &columns.counts);
	if (r < 0)
		return r;
	put_functions(dictionary, encoding, &columns);
	encoding_begin(encoding, &writer);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(order); i++)
		r = section_put(&writer, order[i]);
	return r < 0 ? r : encoding_end(encoding, &writer, "function", CONTENTS_INCOMPATIBLE);
}

void functions_done(struct functions *functions)
{
	array_done(&functions->rows);
	free(functions->by_rank);
}

static int segment_dictionary_decode_modules(const struct decoding *decoding,
					     struct section_reader *section, void *context)
{
	struct tape *tape = decoding->tape;
	struct string_column paths = { 0 };
	struct reader column;
	int r = section_take(section, &column);

	while (r == 0 && reader_left(&column)) {
		struct tape_module module = { 0 };
		const void *build_id;

		module.path = string_column_take(&paths, tape, &column);
		module.kind = reader_u8(&column);
		module.build_id_size = reader_u8(&column);
		build_id = reader_take(&column, module.build_id_size);
		module.device = reader_varint(&column);
		module.inode = reader_varint(&column);
		if (reader_failed(&column) || module.build_id_size > TAPE_BUILD_ID_MAX ||
		    module.kind >= TAPE_MODULE_KINDS)
			return -EBADMSG;
		memcpy(module.build_id, build_id, module.build_id_size);
		r = array_push(&tape->modules, module);
	}
	return r == 0 && reader_failed(&column) ? -EBADMSG : r;
}

/* Decodes the frames of one function from its list of offsets. */
static int segment_dictionary_take_frames(struct tape *tape, const struct tape_frame *start,
					  struct reader *offsets, uint32_t count,
					  uint32_t *ret_first)
{
	if (count > reader_left(offsets))
		return -EBADMSG;
	if (array_reserve(&tape->frames, tape->frames.count + count) < 0)
		return -ENOMEM;
	*ret_first = tape->frames.count;
	for (uint32_t i = 0; i < count; i++) {
		struct tape_frame *frame = &tape->frames.items[tape->frames.count++];
		uint64_t offset = reader_varint(offsets);

		*frame = *start;
		frame->address = start->address + offset;
		frame->offset = start->symbol ? offset : 0;
	}
	return 0;
}

struct function_readers {
	struct reader counts, starts, symbols, sites, leaves, weights, site_offsets, leaf_offsets;
	struct string_column names;
};

static int take_function(struct tape *tape, struct functions *functions,
			 struct function_readers *columns, struct tape_frame *start)
{
	struct function_frames *row = &functions->rows.items[functions->rows.count];
	uint64_t sites = reader_varint(&columns->sites), leaves = reader_varint(&columns->leaves);
	int r;

	start->address += reader_varint(&columns->starts);
	start->symbol = string_column_take(&columns->names, tape, &columns->symbols);
	if (sites > UINT32_MAX || leaves > UINT32_MAX)
		return -EBADMSG;
	row->sites = sites;
	row->leaves = leaves;
	r = segment_dictionary_take_frames(tape, start, &columns->site_offsets, sites,
					   &row->first_site);
	if (r == 0)
		r = segment_dictionary_take_frames(tape, start, &columns->leaf_offsets, leaves,
						   &row->first_leaf);
	functions->rows.count += r == 0;
	return r;
}

static int take_module(struct tape *tape, struct functions *functions,
		       struct function_readers *columns, uint32_t module)
{
	struct tape_frame start = { .module = module };
	size_t count;
	int r = column_count(&columns->counts, &columns->starts, &count);

	if (r < 0)
		return r;
	if (array_reserve(&functions->rows, functions->rows.count + count + 1) < 0)
		return -ENOMEM;
	while (r == 0 && count--)
		r = take_function(tape, functions, columns, &start);
	return r;
}

static int decode_functions(const struct decoding *decoding, struct section_reader *section,
			    void *context)
{
	struct tape *tape = decoding->tape;
	struct functions *functions = context;
	struct function_readers columns = { 0 };
	struct reader *order[] = { &columns.counts,	  &columns.starts,	&columns.symbols,
				   &columns.sites,	  &columns.leaves,	&columns.weights,
				   &columns.site_offsets, &columns.leaf_offsets };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(order); i++)
		r = section_take(section, order[i]);
	if (r < 0)
		return r;
	r = array_reserve(&tape->frames, 1 + columns.site_offsets.size + columns.leaf_offsets.size);
	if (r < 0)
		return r;
	r = array_push(&functions->rows, (struct function_frames){ .sites = 1, .leaves = 1 });
	for (uint32_t module = 1; r == 0 && module < tape->modules.count; module++)
		r = take_module(tape, functions, &columns, module);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i] != &columns.weights &&
		    (reader_failed(order[i]) || reader_left(order[i])))
			return -EBADMSG;
	if (columns.weights.size != functions->rows.count)
		return -EBADMSG;
	return rank_functions(columns.weights.data, functions->rows.count, &functions->by_rank);
}

int dictionary_decode(const struct decoding *decoding, struct functions *functions)
{
	const struct contents_entry *modules = decoding_find(decoding, "modules");
	const struct contents_entry *entry = decoding_find(decoding, "function");
	int r = modules ? decoding_section(decoding, modules, segment_dictionary_decode_modules,
					   NULL)
			: 0;

	if (r < 0)
		return r;
	if (!entry)
		return error_set(decoding->error, -EBADMSG, "the segment lacks section function");
	return decoding_section(decoding, entry, decode_functions, functions);
}
