// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses a device's parameters: name=value, separated by commas or white space.
 * Names are those of struct bf_params and struct flash_config; times are whole
 * nanoseconds. By default every optional part of the model is off.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "flash.h"

struct flash_field {
	const char *name;
	size_t offset;
};

#define MODEL(member)	{ #member, offsetof(struct flash_config, model.member) }
#define OWN(member)	{ #member, offsetof(struct flash_config, member) }

static const struct flash_field model_fields[] = {
	MODEL(pages),
	MODEL(command_ns),
	MODEL(read_lookup_ns),
	MODEL(bus_page_ns),
	MODEL(flush_ns),
	MODEL(discard_ns),
	MODEL(read_ns),
	MODEL(read_next_ns),
	MODEL(read_floor_ns),
	MODEL(program_ns),
	MODEL(channel_page_ns),
	MODEL(stray_ns),
	MODEL(stray_slice_ns),
	MODEL(erase_ns),
	MODEL(copy_page_ns),
	MODEL(suspend_ns),
	MODEL(slc_pages),
	MODEL(slc_program_ns),
	MODEL(fold_page_ns),
	MODEL(fold_idle_ns),
	MODEL(map_zone_pages),
	MODEL(map_load_ns),
	MODEL(command_nj),
	MODEL(bus_page_nj),
	MODEL(read_page_nj),
	MODEL(program_page_nj),
	MODEL(erase_nj),
	MODEL(queue_depth),
	MODEL(units),
	MODEL(program_pages),
	MODEL(program_any),
	MODEL(read_ramp_pages),
	MODEL(reads_per_turn),
	MODEL(read_chunk_pages),
	MODEL(buffer_pages),
	MODEL(write_cache),
	MODEL(suspends_max),
	MODEL(mapping),
	MODEL(block_pages),
	MODEL(spare_percent),
	MODEL(gc_low_blocks),
	MODEL(log_blocks),
	MODEL(map_zones),
	MODEL(filled_percent),
};

/* All of struct bf_params is in the table: 27 fields of 8 bytes, 17 of 4. */
static_assert(ARRAY_SIZE(model_fields) == 44);
static_assert(sizeof(struct bf_params) == 27 * 8 + 17 * 4 + 4);

static const struct flash_field own_fields[] = {
	OWN(depth),
	OWN(queues),
	OWN(store),
	OWN(prealloc),
	OWN(power_cut),
	OWN(memory_at_mib),
	OWN(max_kb),
	OWN(discard_pages_max),
	OWN(timeout_ms),
};

/* The model's 64-bit fields come first, all others have 32 bits. */
static bool flash_field_is_wide(const struct flash_field *field)
{
	return field->offset < offsetof(struct flash_config, model.queue_depth);
}

static const struct flash_field *flash_field_find(const struct flash_field *fields,
						  size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int flash_field_set(struct flash_config *config,
			   const struct flash_field *field, const char *value)
{
	void *at = (char *)config + field->offset;

	if (flash_field_is_wide(field))
		return kstrtou64(value, 0, at);
	return kstrtou32(value, 0, at);
}

static u64 flash_field_get(const struct flash_config *config,
			   const struct flash_field *field)
{
	const void *at = (const char *)config + field->offset;

	return flash_field_is_wide(field) ? *(const u64 *)at : *(const u32 *)at;
}

static int flash_set_name(struct flash_config *config, const char *value)
{
	const char *c;

	for (c = value; *c; c++)
		if (!isalnum(*c) && *c != '_' && *c != '-')
			return -EINVAL;
	if (!*value || strscpy(config->name, value, sizeof(config->name)) < 0)
		return -EINVAL;
	return 0;
}

/* Takes the assignments in @text; @own says whether all fields may be named. */
static int flash_assign(struct flash_config *config, char *text, bool own)
{
	char *word, *value;
	int error;

	while ((word = strsep(&text, ", \t\n"))) {
		const struct flash_field *field;

		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value) {
			pr_err("'%s' is not name=value\n", word);
			return -EINVAL;
		}
		*value++ = '\0';
		if (own && !strcmp(word, "name")) {
			error = flash_set_name(config, value);
			if (error) {
				pr_err("'%s' is not a name for a device: letters, digits, _ and -, fewer than %d\n",
				       value, DISK_NAME_LEN);
				return error;
			}
			continue;
		}
		field = flash_field_find(model_fields, ARRAY_SIZE(model_fields), word);
		if (!field && own)
			field = flash_field_find(own_fields, ARRAY_SIZE(own_fields), word);
		if (!field) {
			pr_err("there is no parameter '%s'%s\n", word,
			       own ? "" : " of a device in use");
			return -EINVAL;
		}
		error = flash_field_set(config, field, value);
		if (error) {
			pr_err("'%s' is not a value of %s: a whole number\n", value, word);
			return error;
		}
	}
	return 0;
}

static int flash_check_model(const struct bf_params *model)
{
	const char *field = "";

	if (!bf_check(model, &field))
		return 0;
	pr_err("%s is outside the range that the model accepts\n", field);
	return -EINVAL;
}

static int flash_check_own(const char *name, u64 value, u64 low, u64 high)
{
	if (value >= low && value <= high)
		return 0;
	pr_err("%s is %llu, and must be %llu to %llu\n", name, value, low, high);
	return -EINVAL;
}

/**
 * flash_config_parse - parses a device's parameters
 * @config: completely set; its name is empty when the text has none
 * @text: is modified
 *
 * Return: 0, or -EINVAL with the reason in the log.
 */
int flash_config_parse(struct flash_config *config, char *text)
{
	int error;

	*config = (struct flash_config) {
		.model = {
			.pages = 65536,
			.queue_depth = 1,
			.units = 1,
			.program_pages = 1,
			.program_any = 1,
			.read_ramp_pages = 1,
			.reads_per_turn = 1,
			.read_chunk_pages = 1u << 20,
			.buffer_pages = 1,
			.block_pages = 256,
			.gc_low_blocks = 2,
		},
		.queues = 1,
		.store = 1,
		.max_kb = 512,
		.discard_pages_max = 1024,
		.timeout_ms = 30000,
	};
	error = flash_assign(config, text, true);
	if (error)
		return error;
	if (!config->depth)
		config->depth = config->model.queue_depth;
	if (flash_check_model(&config->model) ||
	    flash_check_own("depth", config->depth, 1, config->model.queue_depth) ||
	    flash_check_own("queues", config->queues, 1, 64) ||
	    flash_check_own("store", config->store, 0, 1) ||
	    flash_check_own("prealloc", config->prealloc, 0, config->store) ||
	    flash_check_own("power_cut", config->power_cut, 0, config->store) ||
	    flash_check_own("memory_at_mib", config->memory_at_mib, 0,
			    config->store && !config->prealloc && !config->power_cut ?
			    U32_MAX : 0) ||
	    flash_check_own("max_kb", config->max_kb, 4, 32768) ||
	    flash_check_own("discard_pages_max", config->discard_pages_max, 1, 1u << 19) ||
	    flash_check_own("timeout_ms", config->timeout_ms, 1, 3600000))
		return -EINVAL;
	return 0;
}

/**
 * flash_config_set_times - parses new times for a device in use
 * @model: parameters to change
 * @text: is modified
 *
 * Return: 0, or -EINVAL with the reason in the log.
 */
int flash_config_set_times(struct bf_params *model, char *text)
{
	struct flash_config config = { .model = *model };
	int error;

	error = flash_assign(&config, text, false);
	if (!error)
		error = flash_check_model(&config.model);
	if (!error)
		*model = config.model;
	return error;
}

/**
 * flash_config_show - prints a device as lines of "name value"
 * @to: the file
 * @config: the device
 */
void flash_config_show(struct seq_file *to, const struct flash_config *config)
{
	size_t i;

	seq_printf(to, "name %s\n", config->name);
	for (i = 0; i < ARRAY_SIZE(own_fields); i++)
		seq_printf(to, "%s %llu\n", own_fields[i].name,
			   flash_field_get(config, &own_fields[i]));
	for (i = 0; i < ARRAY_SIZE(model_fields); i++)
		seq_printf(to, "%s %llu\n", model_fields[i].name,
			   flash_field_get(config, &model_fields[i]));
}
