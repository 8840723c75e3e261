/*
 * What a power cut leaves of an app's data: writes files and rows of two databases until the power of the flash devices
 * fails, and checks afterwards what is there. It runs on the host and in the kernel lab's guest alike, also under a
 * preloaded library.
 *
 * usage: crash run FILES INDEX.db KEPT.db STATE seed=N moment=US [pause=US] [journal=MODE] [synchronous=LEVEL]
 *                  [batch=N] [cut=CONTROL]...
 *        crash check FILES INDEX.db KEPT.db STATE [batch=N]
 *        crash read FILES STATE
 *
 *   STATE    directory in memory that outlives the cut, for what was acknowledged
 *   seed     chooses the moment and what the devices lose
 *   moment   latest moment after all three have been acknowledged something
 *   pause    between two transactions of a writer [default: 0]
 *   cut      control file of a device that loses its power; the moment is that before the first
 *
 * run: three processes write, each one transaction after the other. A transaction of a database is batch rows, each in
 * slot N % SLOTS with the number of the last row in another table; one of the files is a new file, synced, renamed over
 * that of its slot, and its directory synced. When it has returned its number and time are acknowledged. Then the
 * devices lose their power, and the writers end.
 *
 * check: prints a line of JSON with three parts. A database is whole when it opens, passes integrity_check and holds a
 * prefix of its transactions with the right content. A database that is not is removed. read: of what was acknowledged
 * before the cut each page of a file is counted as right, as an error, or as wrong; for devices of which one is
 * missing.
 *
 * Exit code: 0, 1 when a step fails, 2 for wrong usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 200
#define FILE_SLOTS 24
#define PAGE_BYTES 4096
#define FILE_PAGES_MAX 12
#define CUTS_MAX 4

enum part { PART_FILES, PART_INDEX, PART_KEPT, PARTS };

static const char *const part_names[PARTS] = { "files", "index", "kept" };

static struct {
	const char *paths[PARTS];
	const char *state;
	uint64_t seed, moment_us, pause_us;
	const char *journal, *synchronous;
	unsigned int batch;
	const char *cuts[CUTS_MAX];
	unsigned int nr_cuts;
} options = { .journal = "delete", .synchronous = "full", .batch = 1 };

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("crash: error: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(status);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void pause_for(uint64_t us)
{
	struct timespec time = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 };

	while (us && clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

static uint64_t mixed(uint64_t x)
{
	/* splitmix64 */
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* Content is a function of the number: a page of another number, or an old one, differs. */
static void content_of(unsigned char *to, size_t bytes, uint64_t number, uint64_t page)
{
	uint64_t word = mixed(number * 64 + page);
	size_t at;

	for (at = 0; at < bytes; at += sizeof(word), word = word * 6364136223846793005 + 1442695040888963407)
		memcpy(to + at, &word, bytes - at < sizeof(word) ? bytes - at : sizeof(word));
	if (bytes >= sizeof(number))
		memcpy(to, &number, sizeof(number));
}

static void state_path(char *to, size_t size, const char *name)
{
	if (snprintf(to, size, "%s/%s", options.state, name) >= (int)size)
		fail(2, "the path %s is too long", options.state);
}

/* ---- what was acknowledged: lines of number and time, of which the first is the state before the run ---- */

static int acknowledged_fd = -1;

static void acknowledge(uint64_t number)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 "\n", number, now_us());

	if (write(acknowledged_fd, line, (size_t)length) != length)
		fail(2, "cannot write what was acknowledged: %s", strerror(errno));
}

static void begin_acknowledging(enum part part, uint64_t number)
{
	char path[4096];

	state_path(path, sizeof(path), part_names[part]);
	acknowledged_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (acknowledged_fd < 0)
		fail(2, "cannot make %s: %s", path, strerror(errno));
	acknowledge(number);
}

struct acknowledged {
	uint64_t *numbers, *times;
	size_t count;
};

/* Up to the moment of the cut: afterwards a write into memory may still succeed. */
static struct acknowledged acknowledged_of(enum part part, uint64_t cut_us)
{
	struct acknowledged all = { 0 };
	uint64_t number, time;
	char path[4096];
	size_t room = 0;
	FILE *file;

	state_path(path, sizeof(path), part_names[part]);
	file = fopen(path, "re");
	if (!file)
		fail(2, "cannot open %s: %s", path, strerror(errno));
	while (fscanf(file, "%" SCNu64 " %" SCNu64 "\n", &number, &time) == 2 && time <= cut_us) {
		if (all.count == room) {
			room = room ? 2 * room : 1024;
			all.numbers = reallocarray(all.numbers, room, sizeof(*all.numbers));
			all.times = reallocarray(all.times, room, sizeof(*all.times));
			if (!all.numbers || !all.times)
				fail(2, "no memory for %zu lines", room);
		}
		all.numbers[all.count] = number;
		all.times[all.count++] = time;
	}
	fclose(file);
	if (!all.count)
		fail(2, "%s has no line", path);
	return all;
}

/* Time of the cut in us, and the pages that the devices lost by it. */
static uint64_t cut_time(uint64_t *lost_pages)
{
	char path[4096];
	uint64_t us;
	FILE *file;

	state_path(path, sizeof(path), "cut");
	file = fopen(path, "re");
	if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &us, lost_pages) != 2)
		fail(2, "cannot read %s", path);
	fclose(file);
	return us;
}

/* ---- databases ---- */

static void sql(sqlite3 *database, const char *text)
{
	char *words = NULL;

	if (sqlite3_exec(database, text, NULL, NULL, &words) != SQLITE_OK)
		fail(1, "%s: %s", text, words ? words : sqlite3_errmsg(database));
}

static sqlite3_stmt *prepared(sqlite3 *database, const char *text)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(database, text, -1, &statement, NULL) != SQLITE_OK)
		fail(1, "%s: %s", text, sqlite3_errmsg(database));
	return statement;
}

static sqlite3 *opened(const char *path)
{
	sqlite3 *database;
	char text[128];

	if (sqlite3_open(path, &database) != SQLITE_OK)
		fail(1, "cannot open %s: %s", path, sqlite3_errmsg(database));
	snprintf(text, sizeof(text), "pragma page_size=1024; pragma journal_mode=%s", options.journal);
	sql(database, text);
	snprintf(text, sizeof(text), "pragma synchronous=%s; pragma wal_autocheckpoint=200", options.synchronous);
	sql(database, text);
	sql(database, "create table if not exists slot (k integer primary key, id integer unique, x blob);"
		      "create table if not exists state (only_row integer primary key, last integer);"
		      "insert or ignore into state values (1, 0)");
	return database;
}

static uint64_t last_of(sqlite3 *database)
{
	sqlite3_stmt *statement = prepared(database, "select last from state");
	uint64_t last;

	if (sqlite3_step(statement) != SQLITE_ROW)
		fail(1, "no last row: %s", sqlite3_errmsg(database));
	last = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return last;
}

static size_t row_bytes(uint64_t id)
{
	return 100 + mixed(id) % 800;
}

static void step(sqlite3 *database, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK) {
		/* After the cut an error is what is expected. */
		fprintf(stderr, "crash: %s: %s\n", sqlite3_sql(statement), sqlite3_errmsg(database));
		_exit(1);
	}
}

__attribute__((noreturn)) static void write_rows(enum part part)
{
	sqlite3 *database = opened(options.paths[part]);
	sqlite3_stmt *begin = prepared(database, "begin"), *commit = prepared(database, "commit");
	sqlite3_stmt *put = prepared(database, "insert or replace into slot values (?1, ?2, ?3)");
	sqlite3_stmt *last = prepared(database, "update state set last = ?1");
	uint64_t id = last_of(database);

	sync();
	begin_acknowledging(part, id);
	for (;;) {
		unsigned char content[1024];
		unsigned int row;

		step(database, begin);
		for (row = 0; row < options.batch; row++) {
			id++;
			content_of(content, row_bytes(id), id, 0);
			sqlite3_bind_int64(put, 1, (sqlite3_int64)(id % SLOTS));
			sqlite3_bind_int64(put, 2, (sqlite3_int64)id);
			sqlite3_bind_blob(put, 3, content, (int)row_bytes(id), SQLITE_TRANSIENT);
			step(database, put);
		}
		sqlite3_bind_int64(last, 1, (sqlite3_int64)id);
		step(database, last);
		step(database, commit);
		acknowledge(id);
		pause_for(options.pause_us);
	}
}

/* What is wrong with a row of a database whose last row is known; NULL: nothing. */
static const char *wrong_row(sqlite3_stmt *rows, uint64_t last, unsigned int *found)
{
	static char words[128];
	uint64_t k = (uint64_t)sqlite3_column_int64(rows, 0), id = (uint64_t)sqlite3_column_int64(rows, 1);
	unsigned char content[1024];

	if (id % SLOTS != k || id > last || id + SLOTS <= last) {
		snprintf(words, sizeof(words), "no prefix: row %" PRIu64 " in slot %" PRIu64 " of %" PRIu64 " rows", id, k, last);
		return words;
	}
	content_of(content, row_bytes(id), id, 0);
	if ((size_t)sqlite3_column_bytes(rows, 2) != row_bytes(id) ||
	    memcmp(sqlite3_column_blob(rows, 2), content, row_bytes(id))) {
		snprintf(words, sizeof(words), "row %" PRIu64 " has another content", id);
		return words;
	}
	(*found)++;
	return NULL;
}

/* What is wrong with a database, or NULL; a missing one is empty. */
static const char *examine(const char *path, uint64_t *last)
{
	static char words[256];
	sqlite3_stmt *statement = NULL;
	const char *wrong = NULL;
	sqlite3 *database = NULL;
	unsigned int found = 0;
	int result;

	*last = 0;
	if (access(path, F_OK))
		return NULL;
	result = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_prepare_v2(database, "pragma integrity_check(1)", -1, &statement, NULL);
	if (result == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
		const char *said = (const char *)sqlite3_column_text(statement, 0);

		if (!said || strcmp(said, "ok"))
			snprintf(words, sizeof(words), "integrity_check: %s", said ? said : "nothing"), wrong = words;
	} else {
		snprintf(words, sizeof(words), "it does not open: %s", sqlite3_errmsg(database)), wrong = words;
	}
	sqlite3_finalize(statement);
	statement = NULL;
	if (!wrong && (sqlite3_prepare_v2(database, "select last from state", -1, &statement, NULL) != SQLITE_OK ||
		       sqlite3_step(statement) != SQLITE_ROW))
		snprintf(words, sizeof(words), "no last row: %s", sqlite3_errmsg(database)), wrong = words;
	if (!wrong)
		*last = (uint64_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	statement = NULL;
	if (!wrong && sqlite3_prepare_v2(database, "select k, id, x from slot", -1, &statement, NULL) != SQLITE_OK)
		snprintf(words, sizeof(words), "no rows: %s", sqlite3_errmsg(database)), wrong = words;
	result = SQLITE_ROW;
	while (!wrong && (result = sqlite3_step(statement)) == SQLITE_ROW)
		wrong = wrong_row(statement, *last, &found);
	if (!wrong && result != SQLITE_DONE)
		snprintf(words, sizeof(words), "rows cannot be read: %s", sqlite3_errmsg(database)), wrong = words;
	if (!wrong && found != (*last < SLOTS ? *last : SLOTS))
		snprintf(words, sizeof(words), "no prefix: %u rows up to %" PRIu64, found, *last), wrong = words;
	if (!wrong && *last % options.batch)
		snprintf(words, sizeof(words), "half a transaction: %" PRIu64 " rows", *last), wrong = words;
	sqlite3_finalize(statement);
	sqlite3_close(database);
	return wrong;
}

static void remove_database(const char *path)
{
	static const char *const endings[] = { "", "-journal", "-wal", "-shm" };
	char file[4096];
	size_t i;

	for (i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		snprintf(file, sizeof(file), "%s%s", path, endings[i]);
		if (unlink(file) && errno != ENOENT)
			fail(1, "cannot remove %s: %s", file, strerror(errno));
	}
}

/* ---- files ---- */

static unsigned int file_pages(uint64_t number)
{
	return 1 + (unsigned int)(mixed(number) % FILE_PAGES_MAX);
}

static void file_path(char *to, size_t size, unsigned int slot, const char *ending)
{
	if (snprintf(to, size, "%s/slot%02u%s", options.paths[PART_FILES], slot, ending) >= (int)size)
		fail(2, "the path %s is too long", options.paths[PART_FILES]);
}

/* The number in the first page of a slot's file: 0 when there is none, -1 when it cannot be read. */
static int64_t number_in(unsigned int slot, int *fd)
{
	uint64_t number;
	char path[4096];
	ssize_t got;

	file_path(path, sizeof(path), slot, "");
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return errno == ENOENT ? 0 : -1;
	got = pread(*fd, &number, sizeof(number), 0);
	return got < 0 ? -1 : got == sizeof(number) ? (int64_t)number : 0;
}

/* After the cut an error is what is expected. */
__attribute__((noreturn)) static void after_cut(const char *what)
{
	fprintf(stderr, "crash: %s: %s\n", what, strerror(errno));
	_exit(1);
}

__attribute__((noreturn)) static void write_files(void)
{
	const char *directory = options.paths[PART_FILES];
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned char content[PAGE_BYTES];
	char path[4096], new_path[4096];
	uint64_t number = 0;
	unsigned int slot;
	int fd;

	if (dir < 0)
		fail(1, "cannot open %s: %s", directory, strerror(errno));
	for (slot = 0; slot < FILE_SLOTS; slot++) {
		int64_t there = number_in(slot, &fd);

		if (fd >= 0)
			close(fd);
		if (there > (int64_t)number && (uint64_t)there % FILE_SLOTS == slot)
			number = (uint64_t)there;
	}
	sync();
	begin_acknowledging(PART_FILES, number);
	file_path(new_path, sizeof(new_path), 0, ".new");
	for (;;) {
		unsigned int page, pages = file_pages(++number);

		fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0)
			after_cut("open");
		for (page = 0; page < pages; page++) {
			content_of(content, sizeof(content), number, page);
			if (write(fd, content, sizeof(content)) != sizeof(content))
				after_cut("write");
		}
		if (fsync(fd) || close(fd))
			after_cut("fsync");
		file_path(path, sizeof(path), (unsigned int)(number % FILE_SLOTS), "");
		if (rename(new_path, path))
			after_cut("rename");
		if (fsync(dir))
			after_cut("fsync of the directory");
		acknowledge(number);
		pause_for(2 * options.pause_us);
	}
}

/* Pages of a file by what they are, its number and length as that says. */
struct pages {
	uint64_t right, errors, wrong;
};

static void read_pages(int fd, uint64_t number, struct pages *pages)
{
	unsigned char there[PAGE_BYTES], content[PAGE_BYTES];
	unsigned int page;

	for (page = 0; page < file_pages(number); page++) {
		ssize_t got = pread(fd, there, sizeof(there), (off_t)page * PAGE_BYTES);

		content_of(content, sizeof(content), number, page);
		if (got < 0)
			pages->errors++;
		else if (got == sizeof(there) && !memcmp(there, content, sizeof(content)))
			pages->right++;
		else
			pages->wrong++;
	}
}

/* ---- commands ---- */

static void cut_power(void)
{
	char path[4096], line[64];
	uint64_t lost = 0, at_us;
	unsigned int i;
	FILE *file;

	at_us = now_us();
	for (i = 0; i < options.nr_cuts; i++) {
		/* The module's seeds are numbers of 64 bits. */
		int length = snprintf(line, sizeof(line), "power_cut %" PRIu64 "\n", mixed(options.seed + i) >> 1);
		int fd = open(options.cuts[i], O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, line, (size_t)length) != length)
			fail(2, "%s: %s", options.cuts[i], strerror(errno));
		close(fd);
	}
	for (i = 0; i < options.nr_cuts; i++) {
		const char *name = strrchr(options.cuts[i], '/');
		int c;

		snprintf(path, sizeof(path), "%.*s/lost", (int)(name ? name - options.cuts[i] : 0), options.cuts[i]);
		file = fopen(path, "re");
		if (!file)
			fail(2, "cannot open %s: %s", path, strerror(errno));
		while ((c = getc(file)) != EOF)
			lost += c == '\n';
		fclose(file);
	}
	state_path(path, sizeof(path), "cut");
	file = fopen(path, "we");
	if (!file || fprintf(file, "%" PRIu64 " %" PRIu64 "\n", at_us, lost) < 0 || fclose(file))
		fail(2, "cannot write %s", path);
}

/* Whether a part has been acknowledged something since its begin. */
static bool is_at_work(enum part part)
{
	char path[4096], text[128];
	ssize_t got;
	int fd;

	state_path(path, sizeof(path), part_names[part]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got < 0 ? 0 : got] = 0;
	return strchr(text, '\n') && strchr(strchr(text, '\n') + 1, '\n');
}

static int run(void)
{
	pid_t writers[PARTS];
	enum part part;
	int status;

	for (part = 0; part < PARTS; part++) {
		char path[4096];

		state_path(path, sizeof(path), part_names[part]);
		if (unlink(path) && errno != ENOENT)
			fail(2, "cannot remove %s: %s", path, strerror(errno));
	}
	for (part = 0; part < PARTS; part++) {
		writers[part] = fork();
		if (writers[part] < 0)
			fail(2, "fork: %s", strerror(errno));
		if (!writers[part]) {
			/* Without its parent a writer would never end. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (part == PART_FILES)
				write_files();
			write_rows(part);
		}
	}
	for (part = 0; part < PARTS; part++) {
		while (!is_at_work(part)) {
			if (waitpid(writers[part], &status, WNOHANG) == writers[part])
				fail(1, "the writer of %s ended before the cut", part_names[part]);
			pause_for(1000);
		}
	}
	pause_for(options.moment_us ? mixed(~options.seed) % options.moment_us : 0);
	for (part = 0; part < PARTS; part++)
		if (waitpid(writers[part], &status, WNOHANG) == writers[part])
			fail(1, "the writer of %s ended before the cut", part_names[part]);
	cut_power();
	for (part = 0; part < PARTS; part++)
		kill(writers[part], SIGKILL);
	for (part = 0; part < PARTS; part++)
		waitpid(writers[part], &status, 0);
	return 0;
}

/* Escapes what JSON does not allow in a text. */
static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		putchar(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? ' ' : *text);
	putchar('"');
}

static void print_part(enum part part, uint64_t acknowledged, uint64_t lost, uint64_t age_us, const char *damage)
{
	printf("%s{\"part\":\"%s\",\"acknowledged\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"age_us\":%" PRIu64 ",\"damage\":",
	       part ? "," : "", part_names[part], acknowledged, lost, age_us);
	if (damage)
		print_text(damage);
	else
		printf("null");
	putchar('}');
}

static void check_database(enum part part, uint64_t cut_us)
{
	struct acknowledged all = acknowledged_of(part, cut_us);
	uint64_t begun = all.numbers[0], newest = all.numbers[all.count - 1], last, lost, age_us = 0;
	const char *damage = examine(options.paths[part], &last);
	size_t i;

	lost = damage || last >= newest ? 0 : newest - last;
	for (i = 0; lost && !age_us && i < all.count; i++)
		if (all.numbers[i] > last || i + 1 == all.count)
			age_us = cut_us - all.times[i];
	print_part(part, newest - begun, lost, age_us, damage);
	if (damage)
		remove_database(options.paths[part]);
	free(all.numbers);
	free(all.times);
}

static void check_files(uint64_t cut_us)
{
	struct acknowledged all = acknowledged_of(PART_FILES, cut_us);
	uint64_t lost = 0, age_us = 0;
	const char *damage = NULL;
	char words[128];
	unsigned int slot;
	size_t i;

	for (slot = 0; slot < FILE_SLOTS; slot++) {
		struct pages pages = { 0 };
		uint64_t acknowledged = 0, time = 0;
		int64_t there;
		int fd;

		for (i = 1; i < all.count; i++)
			if (all.numbers[i] % FILE_SLOTS == slot)
				acknowledged = all.numbers[i], time = all.times[i];
		there = number_in(slot, &fd);
		if (fd >= 0 && there > 0)
			read_pages(fd, (uint64_t)there, &pages);
		if (fd >= 0)
			close(fd);
		if (there < 0 || pages.errors || pages.wrong || (there > 0 && (uint64_t)there % FILE_SLOTS != slot)) {
			snprintf(words, sizeof(words),
				 "slot %u: file %" PRId64 ", %" PRIu64 " pages wrong, %" PRIu64 " not readable", slot, there,
				 pages.wrong, pages.errors);
			damage = words;
		} else if ((uint64_t)there < acknowledged) {
			/* An empty file is one whose content is lost. */
			lost++;
			age_us = cut_us - time > age_us ? cut_us - time : age_us;
		}
	}
	print_part(PART_FILES, all.numbers[all.count - 1] - all.numbers[0], lost, age_us, damage);
	free(all.numbers);
	free(all.times);
}

static int check(void)
{
	uint64_t lost, cut_us = cut_time(&lost);

	printf("@ {\"cut\":{\"lost_pages\":%" PRIu64 ",\"parts\":[", lost);
	check_files(cut_us);
	check_database(PART_INDEX, cut_us);
	check_database(PART_KEPT, cut_us);
	printf("]}}\n");
	return 0;
}

static int read_with_a_missing_device(void)
{
	uint64_t lost_pages;
	struct acknowledged all = acknowledged_of(PART_FILES, cut_time(&lost_pages));
	struct pages pages = { 0 };
	unsigned int slot;
	size_t i;

	for (slot = 0; slot < FILE_SLOTS; slot++) {
		uint64_t acknowledged = 0;
		int64_t there;
		int fd;

		for (i = 1; i < all.count; i++)
			if (all.numbers[i] % FILE_SLOTS == slot)
				acknowledged = all.numbers[i];
		there = number_in(slot, &fd);
		/* What was not acknowledged may have any content; what is newer was not. */
		if (there < 0)
			pages.errors++;
		else if (acknowledged && (uint64_t)there < acknowledged)
			pages.wrong++;
		else if (acknowledged && (uint64_t)there == acknowledged)
			read_pages(fd, acknowledged, &pages);
		if (fd >= 0)
			close(fd);
	}
	printf("@ {\"pulled\":{\"right\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"wrong\":%" PRIu64 "}}\n",
	       pages.right, pages.errors, pages.wrong);
	return 0;
}

static bool is_number(const char *text, const char *name, uint64_t *to)
{
	size_t length = strlen(name);
	char rest;

	return !strncmp(text, name, length) && sscanf(text + length, "%" SCNu64 "%c", to, &rest) == 1;
}

static void set_option(const char *text)
{
	uint64_t batch = 0;

	if (!strncmp(text, "journal=", 8))
		options.journal = text + 8;
	else if (!strncmp(text, "synchronous=", 12))
		options.synchronous = text + 12;
	else if (!strncmp(text, "cut=", 4) && options.nr_cuts < CUTS_MAX)
		options.cuts[options.nr_cuts++] = text + 4;
	else if (is_number(text, "batch=", &batch) && batch > 0 && batch <= SLOTS)
		options.batch = (unsigned int)batch;
	else if (!is_number(text, "seed=", &options.seed) && !is_number(text, "moment=", &options.moment_us) &&
		 !is_number(text, "pause=", &options.pause_us))
		fail(2, "unknown argument '%s'", text);
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 4 && !strcmp(argv[1], "read")) {
		options.paths[PART_FILES] = argv[2];
		options.state = argv[3];
		return read_with_a_missing_device();
	}
	if (argc < 6 || (strcmp(argv[1], "run") && strcmp(argv[1], "check")))
		fail(2, "usage: crash run|check FILES INDEX.db KEPT.db STATE [NAME=VALUE]..., or crash read FILES STATE");
	for (i = 0; i < PARTS; i++)
		options.paths[i] = argv[2 + i];
	options.state = argv[5];
	for (i = 6; i < argc; i++)
		set_option(argv[i]);
	return strcmp(argv[1], "run") ? check() : run();
}
