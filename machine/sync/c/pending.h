/* What the two parts of the preloaded library share: files with syncs that were left out. */
#ifndef BRISK_PENDING_H
#define BRISK_PENDING_H

/* The next sync of a durable file syncs this one first. */
void brisk_remember_pending(int fd);

#endif
