/*
 * Writes transactions to a database until it fails or is ended, as the load of power cuts: $1 = database, $2 = journal
 * mode, $3 = file for what was acknowledged, on a device of its own. Each transaction adds a row and changes another
 * table; when its commit has returned, its number and the time (CLOCK_MONOTONIC, in us) are a line of that file.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char sql[512], line[64];
	sqlite3_stmt *last;
	sqlite3 *database;
	long id;
	int fd;

	if (argc != 4 || sqlite3_open(argv[1], &database) != SQLITE_OK)
		return 2;
	snprintf(sql, sizeof(sql),
		 "pragma journal_mode=%s; pragma synchronous=extra; pragma wal_autocheckpoint=100;"
		 "create table if not exists t(id integer primary key, x);"
		 "create table if not exists s(k integer primary key, v, x);",
		 argv[2]);
	fd = open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd < 0 || sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(database, "select coalesce(max(id), 0) from t", -1, &last, NULL) != SQLITE_OK ||
	    sqlite3_step(last) != SQLITE_ROW)
		return 2;
	id = sqlite3_column_int(last, 0);
	sqlite3_finalize(last);
	for (;;) {
		struct timespec now;
		int length;

		id++;
		snprintf(sql, sizeof(sql),
			 "begin; insert into t values(%ld, randomblob(300)); insert into s values(%ld, 1, randomblob(500)) on conflict(k) "
			 "do update set v = v + 1, x = excluded.x; commit;",
			 id, id * 7919 % 200);
		if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
		length = snprintf(line, sizeof(line), "%ld %lld\n", id, (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
		if (write(fd, line, (size_t)length) != length)
			return 2;
	}
}
