#include "daemon/proxy/proxy_extra.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "json/write.h"

static void write_host(struct json_writer *w, const char *host, size_t len)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(LIMIT_POLICY_FILE);

	/* Without memory for the star the entry stays one that the parser refuses: nothing is allowed by mistake. */
	if (host[0] == '.' && buffer_append_string(&text, "*") == 0 && buffer_append(&text, host, len) == 0)
		json_write_bytes(w, text.data, text.len);
	else
		json_write_bytes(w, host, len);
}

int proxy_extra_policy(const char *list, struct buffer *ret)
{
	static const char between[] = ", \t\r\n";
	struct json_writer *w = json_write_new(ret);

	if (!w)
		return -ENOMEM;
	json_write_object(w);
	json_write_key(w, "sandbox");
	json_write_object(w);
	json_write_key(w, "network");
	json_write_object(w);
	json_write_key(w, "allowedDomains");
	json_write_array(w);
	for (list += strspn(list, between); *list; list += strspn(list, between)) {
		size_t len = strcspn(list, between);

		write_host(w, list, len);
		list += len;
	}
	json_write_array_end(w);
	json_write_object_end(w);
	json_write_object_end(w);
	json_write_object_end(w);
	return json_write_finish(w);
}
