/*
 * Rules of selective sync, as `policy/rules.rs` writes them into the environment, and which one holds for a path.
 *
 * A rule is a line: class (C, O with its bound in s, D), a space, an absolute pattern. A pattern with a slash at its
 * end stands for that directory and all below it; the name `*` stands for any one name. Of several rules that name a
 * path the strictest holds; without one the path is durable. A text that is not exactly of this form gives no rules at
 * all, so that all stays durable.
 *
 * No function here allocates, locks, or calls anything but memory and string functions.
 */
#ifndef BRISK_RULES_H
#define BRISK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BRISK_RULES_VARIABLE "BRISK_SYNC_RULES"
#define BRISK_RULES_VERSION "brisk-sync 1\n"
/* RULES_MAX of the policy, three for each database, and the cache directory. */
#define BRISK_RULES_MAX 301
/* ENCODED_BYTES_MAX of the policy, and the end of the text. */
#define BRISK_RULES_BYTES 65536
/* SECONDS_MAX of the policy. */
#define BRISK_SECONDS_MAX 300

/* The larger, the less may be lost. */
enum brisk_class { BRISK_CACHE, BRISK_ORDERED, BRISK_DURABLE };

struct brisk_rule {
	/* Without the slash that stands for all below it. */
	const char *pattern;
	size_t length;
	enum brisk_class class;
	unsigned int seconds;
	bool below;
};

struct brisk_rules {
	size_t count;
	/* Whether one of them loosens anything. */
	bool loosens;
	struct brisk_rule rules[BRISK_RULES_MAX];
	/* A copy: an app may overwrite its environment. */
	char text[BRISK_RULES_BYTES];
};

struct brisk_verdict {
	enum brisk_class class;
	/* Bound of the class ordered, in s. */
	unsigned int seconds;
};

static inline bool brisk_read_rule(struct brisk_rule *rule, const char *line, size_t length)
{
	size_t at = 1;

	if (length < 1)
		return false;
	rule->seconds = 0;
	switch (line[0]) {
	case 'C':
		rule->class = BRISK_CACHE;
		break;
	case 'D':
		rule->class = BRISK_DURABLE;
		break;
	case 'O':
		rule->class = BRISK_ORDERED;
		for (; at < length && line[at] >= '0' && line[at] <= '9' && rule->seconds <= BRISK_SECONDS_MAX; at++)
			rule->seconds = rule->seconds * 10 + (unsigned int)(line[at] - '0');
		if (rule->seconds < 1 || rule->seconds > BRISK_SECONDS_MAX)
			return false;
		break;
	default:
		return false;
	}
	if (at + 2 >= length || line[at] != ' ' || line[at + 1] != '/')
		return false;
	rule->pattern = line + at + 1;
	rule->length = length - at - 1;
	rule->below = rule->pattern[rule->length - 1] == '/';
	if (rule->below)
		rule->length--;
	/* "/" alone names everything: no policy may. */
	return rule->length > 1;
}

/* Reads `text`; false, and no rules, when it is not of the form above. */
static inline bool brisk_read_rules(struct brisk_rules *rules, const char *text)
{
	size_t length = strlen(text);
	size_t at = sizeof(BRISK_RULES_VERSION) - 1;

	rules->count = 0;
	rules->loosens = false;
	if (length >= sizeof(rules->text) || strncmp(text, BRISK_RULES_VERSION, at) != 0)
		return false;
	memcpy(rules->text, text, length + 1);
	while (at < length) {
		const char *line = rules->text + at;
		const char *end = memchr(line, '\n', length - at);
		struct brisk_rule *rule = &rules->rules[rules->count];

		if (!end || rules->count == BRISK_RULES_MAX || !brisk_read_rule(rule, line, (size_t)(end - line))) {
			rules->count = 0;
			rules->loosens = false;
			return false;
		}
		rules->loosens |= rule->class != BRISK_DURABLE;
		rules->count++;
		at += (size_t)(end - line) + 1;
	}
	return true;
}

/* Length of the name that begins at `at`. */
static inline size_t brisk_name_length(const char *at, const char *end)
{
	const char *slash = memchr(at, '/', (size_t)(end - at));

	return (size_t)((slash ? slash : end) - at);
}

static inline bool brisk_names(const struct brisk_rule *rule, const char *path, size_t length)
{
	const char *mine = rule->pattern + 1, *my_end = rule->pattern + rule->length;
	const char *theirs = path + 1, *their_end = path + length;

	for (;;) {
		size_t my_length = brisk_name_length(mine, my_end);
		size_t their_length = brisk_name_length(theirs, their_end);

		if (their_length == 0)
			return false;
		if (!(my_length == 1 && *mine == '*') &&
		    (my_length != their_length || memcmp(mine, theirs, my_length) != 0))
			return false;
		mine += my_length;
		theirs += their_length;
		if (mine == my_end)
			return theirs == their_end || rule->below;
		if (theirs == their_end)
			return false;
		mine++;
		theirs++;
	}
}

/* Whether a path is absolute and without empty names, `.` and `..`. The kernel's paths of open files are. */
static inline bool brisk_is_plain(const char *path, size_t length)
{
	const char *at = path, *end = path + length;

	if (length < 2)
		return false;
	while (at < end) {
		size_t name;

		if (*at++ != '/')
			return false;
		name = brisk_name_length(at, end);
		if (name == 0 || (name == 1 && at[0] == '.') || (name == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += name;
	}
	return true;
}

/* Whether the rule may name something below the directory of this path. */
static inline bool brisk_names_below(const struct brisk_rule *rule, const char *path, size_t length)
{
	const char *mine = rule->pattern + 1, *my_end = rule->pattern + rule->length;
	const char *theirs = path + 1, *their_end = path + length;

	for (;;) {
		size_t my_length = brisk_name_length(mine, my_end);
		size_t their_length = brisk_name_length(theirs, their_end);

		if (!(my_length == 1 && *mine == '*') &&
		    (my_length != their_length || memcmp(mine, theirs, my_length) != 0))
			return false;
		mine += my_length;
		theirs += their_length;
		if (theirs == their_end)
			return mine != my_end;
		if (mine == my_end)
			return false;
		mine++;
		theirs++;
	}
}

static inline bool brisk_is_stricter(const struct brisk_rule *rule, const struct brisk_verdict *than)
{
	return rule->class > than->class || (rule->class == than->class && rule->seconds < than->seconds);
}

/* The strictest rule that names the path; durable without one. */
static inline struct brisk_verdict brisk_rule_for(const struct brisk_rules *rules, const char *path, size_t length)
{
	struct brisk_verdict verdict = { .class = BRISK_DURABLE };
	bool named = false;
	size_t i;

	if (!rules->loosens || !brisk_is_plain(path, length))
		return verdict;
	for (i = 0; i < rules->count; i++) {
		const struct brisk_rule *rule = &rules->rules[i];

		if (!brisk_names(rule, path, length))
			continue;
		if (!named || brisk_is_stricter(rule, &verdict)) {
			verdict.class = rule->class;
			verdict.seconds = rule->seconds;
		}
		named = true;
	}
	return verdict;
}

/*
 * The same for a directory, whose sync is one of the names in it too: the strictest of its own and of what may be below
 * it.
 */
static inline struct brisk_verdict
brisk_rule_for_directory(const struct brisk_rules *rules, const char *path, size_t length)
{
	struct brisk_verdict verdict = brisk_rule_for(rules, path, length);
	size_t i;

	for (i = 0; i < rules->count && verdict.class != BRISK_DURABLE; i++) {
		const struct brisk_rule *rule = &rules->rules[i];

		if (brisk_is_stricter(rule, &verdict) && brisk_names_below(rule, path, length)) {
			verdict.class = rule->class;
			verdict.seconds = rule->seconds;
		}
	}
	return verdict;
}

#endif
