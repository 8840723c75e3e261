/*
 * The storage work of an app, as a plan says: files of a cache, and rows of two SQLite databases (an index of the
 * cache, and data that the user would miss). It runs on the host and in the kernel lab's guest alike, also under a
 * preloaded library, so it is a program of its own that loads SQLite dynamically.
 *
 * usage: app PLAN FILES INDEX.db KEPT.db [journal=MODE] [synchronous=LEVEL] [batch=N]
 *
 *   PLAN     one step a line, see below
 *   FILES    directory of the files
 *   journal, synchronous   of both databases, by SQLite's names [default: delete, full]
 *   batch    rows of one transaction [default: 1]; the end of a page ends it as well
 *
 * Steps: N is a number that names a file or row, D is i (index) or k (kept), sizes are in bytes.
 *
 *   think US          computes and waits for the network, without storage
 *   page              the end of a page
 *   file N BYTES      writes a new file, with the writes of a buffered stream
 *   read N            reads it
 *   remove N          removes it
 *   put D N BYTES     inserts a row with so much payload, or replaces it
 *   drop D N M        deletes the rows from N to M
 *   get D N           reads a row
 *   start             end of the preparation, which is one transaction: all is made durable, then the clock starts
 *
 * Prints one line of JSON: run time, its parts, and counts. Exit code: 0, 1 when a step fails, 2 for wrong usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes of one write of a file: java.io.BufferedOutputStream's default. */
#define WRITE_BYTES 8192
/* Page size of databases: SQLite's default on the phones of the paper, whose databases have 34 and 137 KB. */
#define PAGE_BYTES 1024
#define PAYLOAD_BYTES_MAX 65536

struct database {
	sqlite3 *sqlite;
	sqlite3_stmt *put, *drop, *get, *begin, *commit;
	unsigned int open_rows;
};

static struct {
	uint64_t think_ns, file_ns, database_ns;
	uint64_t files, file_bytes, rows, transactions, reads;
} sums;

static struct database databases[2];
static const char *files;
static unsigned int batch = 1;
/* Before the clock starts, all rows are in one transaction. */
static bool is_preparing = true;
static unsigned char noise[PAYLOAD_BYTES_MAX];
static uint64_t noise_state = 1;

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("app: error: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(status);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Another content each time, which does not compress (xorshift64). */
static void renew_noise(void)
{
	size_t i;

	for (i = 0; i < sizeof(noise); i += sizeof(noise_state)) {
		noise_state ^= noise_state << 13;
		noise_state ^= noise_state >> 7;
		noise_state ^= noise_state << 17;
		memcpy(noise + i, &noise_state, sizeof(noise_state));
	}
}

static const unsigned char *some_noise(size_t bytes)
{
	static size_t at;

	at = (at + 4093) % sizeof(noise);
	if (at + bytes > sizeof(noise))
		at = 0;
	noise[at] ^= (unsigned char)++noise_state;
	return noise + at;
}

/* ---- files ---- */

static void path_of(char *to, size_t size, uint64_t number)
{
	if (snprintf(to, size, "%s/%08" PRIx64, files, number) >= (int)size)
		fail(2, "the path %s is too long", files);
}

static void write_file(uint64_t number, uint64_t bytes)
{
	char path[4096];
	int fd;

	path_of(path, sizeof(path), number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(1, "cannot make %s: %s", path, strerror(errno));
	while (bytes > 0) {
		size_t some = bytes < WRITE_BYTES ? (size_t)bytes : WRITE_BYTES;
		ssize_t written = write(fd, some_noise(some), some);

		if (written <= 0)
			fail(1, "cannot write %s: %s", path, written ? strerror(errno) : "no progress");
		bytes -= (uint64_t)written;
		sums.file_bytes += (uint64_t)written;
	}
	if (close(fd))
		fail(1, "cannot close %s: %s", path, strerror(errno));
	sums.files++;
}

static void read_file(uint64_t number)
{
	char path[4096], buffer[WRITE_BYTES];
	ssize_t got;
	int fd;

	path_of(path, sizeof(path), number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(1, "cannot open %s: %s", path, strerror(errno));
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		;
	if (got < 0)
		fail(1, "cannot read %s: %s", path, strerror(errno));
	close(fd);
	sums.reads++;
}

static void remove_file(uint64_t number)
{
	char path[4096];

	path_of(path, sizeof(path), number);
	if (unlink(path))
		fail(1, "cannot remove %s: %s", path, strerror(errno));
}

/* ---- databases ---- */

static void sql(struct database *database, const char *text)
{
	char *words = NULL;

	if (sqlite3_exec(database->sqlite, text, NULL, NULL, &words) != SQLITE_OK)
		fail(1, "%s: %s", text, words ? words : sqlite3_errmsg(database->sqlite));
}

static sqlite3_stmt *prepared(struct database *database, const char *text)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(database->sqlite, text, -1, &statement, NULL) != SQLITE_OK)
		fail(1, "%s: %s", text, sqlite3_errmsg(database->sqlite));
	return statement;
}

static void step(struct database *database, sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	if (result != SQLITE_DONE && result != SQLITE_ROW)
		fail(1, "%s: %s", sqlite3_sql(statement), sqlite3_errmsg(database->sqlite));
	if (sqlite3_reset(statement) != SQLITE_OK)
		fail(1, "%s: %s", sqlite3_sql(statement), sqlite3_errmsg(database->sqlite));
}

static void set_journal(struct database *database, const char *mode)
{
	char text[64];
	sqlite3_stmt *statement;

	snprintf(text, sizeof(text), "pragma journal_mode=%s", mode);
	statement = prepared(database, text);
	if (sqlite3_step(statement) != SQLITE_ROW || strcmp((const char *)sqlite3_column_text(statement, 0), mode))
		fail(1, "the journal's mode does not become '%s'", mode);
	sqlite3_finalize(statement);
}

static void open_database(struct database *database, const char *path, const char *journal, const char *synchronous)
{
	char text[64];

	if (sqlite3_open(path, &database->sqlite) != SQLITE_OK)
		fail(1, "cannot open %s: %s", path, sqlite3_errmsg(database->sqlite));
	snprintf(text, sizeof(text), "pragma page_size=%d", PAGE_BYTES);
	sql(database, text);
	set_journal(database, journal);
	snprintf(text, sizeof(text), "pragma synchronous=%s", synchronous);
	sql(database, text);
	/* Like the tables of Android's WebView: a number, a unique text, the rest. */
	sql(database, "create table if not exists row (_id integer primary key, "
		      "url text unique on conflict replace, rest blob)");
	database->put = prepared(database, "insert or replace into row values (?1, ?2, ?3)");
	database->drop = prepared(database, "delete from row where _id between ?1 and ?2");
	database->get = prepared(database, "select rest from row where url = ?1");
	database->begin = prepared(database, "begin");
	database->commit = prepared(database, "commit");
}

/* The url of a row: urls come in no order. */
static int url_of(char *to, size_t size, uint64_t number)
{
	uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15;

	mixed ^= mixed >> 29;
	return snprintf(to, size, "http://www.%06" PRIx64 ".example/images/%016" PRIx64 ".jpg",
			(mixed >> 8) & 0xffffff, mixed);
}

static void end_transaction(struct database *database)
{
	if (!database->open_rows)
		return;
	step(database, database->commit);
	database->open_rows = 0;
	sums.transactions++;
}

/* A statement that writes: alone a transaction, or a part of one. */
static void write_rows(struct database *database, sqlite3_stmt *statement)
{
	if (batch == 1 && !is_preparing) {
		step(database, statement);
		sums.transactions++;
		return;
	}
	if (!database->open_rows)
		step(database, database->begin);
	step(database, statement);
	if (++database->open_rows >= batch && !is_preparing)
		end_transaction(database);
}

static void put_row(struct database *database, uint64_t number, uint64_t bytes)
{
	char url[128];
	int length = url_of(url, sizeof(url), number);

	if (bytes > PAYLOAD_BYTES_MAX)
		fail(2, "a row of %" PRIu64 " bytes is larger than %d", bytes, PAYLOAD_BYTES_MAX);
	sqlite3_bind_int64(database->put, 1, (sqlite3_int64)number);
	sqlite3_bind_text(database->put, 2, url, length, SQLITE_TRANSIENT);
	sqlite3_bind_blob(database->put, 3, some_noise((size_t)bytes), (int)bytes, SQLITE_TRANSIENT);
	write_rows(database, database->put);
	sums.rows++;
}

static void get_row(struct database *database, uint64_t number)
{
	char url[128];
	int length = url_of(url, sizeof(url), number);

	sqlite3_bind_text(database->get, 1, url, length, SQLITE_TRANSIENT);
	step(database, database->get);
	sums.reads++;
}

static void drop_rows(struct database *database, uint64_t from, uint64_t to)
{
	sqlite3_bind_int64(database->drop, 1, (sqlite3_int64)from);
	sqlite3_bind_int64(database->drop, 2, (sqlite3_int64)to);
	write_rows(database, database->drop);
}

static void end_transactions(void)
{
	end_transaction(&databases[0]);
	end_transaction(&databases[1]);
}

/* ---- the plan ---- */

static void think(uint64_t us)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(us % 1000000) * 1000;
	until.tv_sec += (time_t)(us / 1000000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static struct database *database_of(char letter, unsigned int line)
{
	if (letter == 'i')
		return &databases[0];
	if (letter == 'k')
		return &databases[1];
	fail(2, "line %u of the plan: there is no database '%c'", line, letter);
}

static void start(uint64_t *begun_ns)
{
	end_transactions();
	is_preparing = false;
	sync();
	memset(&sums, 0, sizeof(sums));
	*begun_ns = now_ns();
}

/* Carries out a step; returns where its time belongs. */
static uint64_t *carry_out(const char *text, unsigned int line, uint64_t *begun_ns)
{
	uint64_t a, b;
	char letter;

	if (sscanf(text, "think %" SCNu64, &a) == 1)
		return think(a), &sums.think_ns;
	if (sscanf(text, "file %" SCNu64 " %" SCNu64, &a, &b) == 2)
		return write_file(a, b), &sums.file_ns;
	if (sscanf(text, "read %" SCNu64, &a) == 1)
		return read_file(a), &sums.file_ns;
	if (sscanf(text, "remove %" SCNu64, &a) == 1)
		return remove_file(a), &sums.file_ns;
	if (sscanf(text, "put %c %" SCNu64 " %" SCNu64, &letter, &a, &b) == 3)
		return put_row(database_of(letter, line), a, b), &sums.database_ns;
	if (sscanf(text, "drop %c %" SCNu64 " %" SCNu64, &letter, &a, &b) == 3)
		return drop_rows(database_of(letter, line), a, b), &sums.database_ns;
	if (sscanf(text, "get %c %" SCNu64, &letter, &a) == 2)
		return get_row(database_of(letter, line), a), &sums.database_ns;
	if (!strcmp(text, "page\n"))
		return end_transactions(), &sums.database_ns;
	if (!strcmp(text, "start\n"))
		return start(begun_ns), NULL;
	fail(2, "line %u of the plan: unknown step: %s", line, text);
}

int main(int argc, char **argv)
{
	const char *journal = "delete", *synchronous = "full";
	uint64_t begun_ns = 0, run_ns;
	unsigned int line = 0;
	char text[256];
	FILE *plan;
	int i;

	if (argc < 5)
		fail(2, "usage: app PLAN FILES INDEX.db KEPT.db [journal=MODE] [synchronous=LEVEL] [batch=N]");
	for (i = 5; i < argc; i++) {
		if (!strncmp(argv[i], "journal=", 8))
			journal = argv[i] + 8;
		else if (!strncmp(argv[i], "synchronous=", 12))
			synchronous = argv[i] + 12;
		else if (sscanf(argv[i], "batch=%u", &batch) != 1 || batch < 1)
			fail(2, "unknown argument '%s'", argv[i]);
	}
	plan = fopen(argv[1], "re");
	if (!plan)
		fail(2, "cannot open the plan %s: %s", argv[1], strerror(errno));
	files = argv[2];
	renew_noise();
	for (i = 0; i < 2; i++)
		open_database(&databases[i], argv[3 + i], journal, synchronous);
	while (fgets(text, sizeof(text), plan)) {
		uint64_t at_ns = now_ns();
		uint64_t *sum = carry_out(text, ++line, &begun_ns);

		if (sum)
			*sum += now_ns() - at_ns;
	}
	if (ferror(plan))
		fail(1, "cannot read the plan %s", argv[1]);
	end_transactions();
	run_ns = now_ns() - begun_ns;
	if (!begun_ns)
		fail(2, "the plan has no step 'start'");
	printf("@ {\"app\":{\"run_ns\":%" PRIu64 ",\"think_ns\":%" PRIu64 ",\"file_ns\":%" PRIu64 ",\"database_ns\":%" PRIu64
	       ",\"files\":%" PRIu64 ",\"file_bytes\":%" PRIu64 ",\"rows\":%" PRIu64
	       ",\"transactions\":%" PRIu64 ",\"reads\":%" PRIu64 "}}\n",
	       run_ns, sums.think_ns, sums.file_ns, sums.database_ns, sums.files, sums.file_bytes, sums.rows,
	       sums.transactions,
	       sums.reads);
	/* What is left in memory is no part of the run: as with an app that is killed, and no checkpoint of a log. */
	fflush(stdout);
	_exit(0);
}
