/* Reads rules from the environment and paths from standard input, one a line; prints class and bound of each. */
#include <stdio.h>
#include <stdlib.h>

#include "../../c/rules.h"

int main(void)
{
	static struct brisk_rules rules;
	char path[4096];

	if (!brisk_read_rules(&rules, getenv(BRISK_RULES_VARIABLE)))
		return 1;
	while (fgets(path, sizeof(path), stdin)) {
		struct brisk_verdict verdict = brisk_rule_for(&rules, path, strcspn(path, "\n"));

		printf("%u %u\n", (unsigned int)verdict.class, verdict.seconds);
	}
	return 0;
}
