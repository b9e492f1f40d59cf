#include "git/git_index.h"

#include <errno.h>
#include <string.h>

#define HEADER 12
#define FLAGS 60 /* behind times, identity, size and SHA-1 */
#define EXTENDED 0x4000
#define LENGTH 0xfffU
#define SKIP_WORKTREE 0x4000

static uint32_t u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned u16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

int git_index_begin(struct git_index *i, const void *data, size_t len)
{
	const unsigned char *p = data;

	*i = (struct git_index){ .left = 0 };
	if (len < HEADER || memcmp(p, "DIRC", 4) != 0)
		return -EBADMSG;
	i->version = u32(p + 4);
	if (i->version < 2 || i->version > 4)
		return -EBADMSG;
	i->left = u32(p + 8);
	i->at = p + HEADER;
	i->end = p + len;
	return 0;
}

/* How much of the name before goes: seven bits a byte, each further one counts from one on. -1: no such number. */
static long read_strip(const unsigned char **at, const unsigned char *end)
{
	long value = -1;
	unsigned byte;

	do {
		if (*at == end || value > PATH_MAX)
			return -1;
		byte = *(*at)++;
		value = (value + 1) * 128 + (byte & 127);
	} while (byte & 128);
	return value;
}

int git_index_next(struct git_index *i)
{
	const unsigned char *p = i->at, *nul;
	size_t room = (size_t)(i->end - i->at), keep = 0, n, used;
	unsigned flags;
	long strip;

	if (i->left == 0)
		return 0;
	if (room < FLAGS + 4)
		return -EBADMSG;
	flags = u16(p + FLAGS);
	i->is_skipped = flags & EXTENDED && u16(p + FLAGS + 2) & SKIP_WORKTREE;
	if (flags & EXTENDED && i->version < 3)
		return -EBADMSG;
	p += flags & EXTENDED ? FLAGS + 4 : FLAGS + 2;
	if (i->version == 4) {
		strip = read_strip(&p, i->end);
		if (strip < 0 || (size_t)strip > i->len)
			return -EBADMSG;
		keep = i->len - (size_t)strip;
	}
	nul = memchr(p, '\0', (size_t)(i->end - p));
	n = nul ? (size_t)(nul - p) : 0;
	if (!nul || keep + n == 0 || keep + n >= sizeof(i->name))
		return -EBADMSG;
	i->len = keep + n;
	if ((flags & LENGTH) != (i->len < LENGTH ? i->len : LENGTH))
		return -EBADMSG;
	memcpy(i->name + keep, p, n + 1);
	used = (size_t)(nul - i->at) + 1;
	if (i->version < 4)
		used = (used + 7) & ~(size_t)7; /* one NUL at least, up to eight */
	if (used > room)
		return -EBADMSG;
	i->at += used;
	i->left--;
	return 1;
}
