/* One policy file: what it gives, and every mistake with file, line and key. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "json/write.h"
#include "policy/policy.h"

static int load(enum policy_layer_kind layer, const char *path, const char *text, struct policy *ret, struct error *e)
{
	const struct policy_input input = { .layer = layer, .path = path, .text = text, .len = strlen(text) };

	*e = (struct error)ERROR_INIT;
	return policy_load(&input, 1, ret, e);
}

static const char full[] =
	"// a comment\n"
	"{ \"sandbox\": {\n"
	"  \"filesystem\": { \"allowRead\": [\"~/.gitconfig\", \"/srv/data\"],\n"
	"                  \"allowWrite\": [\"./out\"] },\n"
	"  \"network\": { \"allowedDomains\": [\"OK.Example.\",\n"
	"                \"*.example.org:443\"], /* two */ \"deniedDomains\": [\"bad.example.org\"],\n"
	"               \"onUnlisted\": \"deny\" } },\n"
	"  \"hosts\": { \"ok.example\": [\"127.0.0.2\", \"::1\"] },\n"
	"  \"environment\": { \"pass\": [\"GH_TOKEN\"], \"set\": { \"CI\": \"1\" } },\n"
	"  \"limits\": { \"memory\": \"8G\", \"pids\": 100, \"cpus\": 1.5, \"wall\": \"12h\" },\n"
	"  \"process\": { \"nesting\": true }\n"
	"}\n";

static void everything(void **state)
{
	struct error e;
	struct policy p;

	assert_int_equal(load(POLICY_ADMINISTRATOR, "/etc/isod/policy.json", full, &p, &e), 0);
	assert_int_equal(p.allow_read.count, 2);
	assert_string_equal(p.allow_read.items[1].text, "/srv/data");
	assert_int_equal(p.allow_read.items[1].origin.line, 3);
	assert_string_equal(p.allow_read.items[1].origin.path, "/etc/isod/policy.json");
	assert_int_equal(p.allow_read.items[1].origin.layer, POLICY_ADMINISTRATOR);
	assert_string_equal(p.allow_write.items[0].text, "./out");
	assert_int_equal(p.allowed_domains.count, 2);
	assert_string_equal(p.allowed_domains.items[0].text, "OK.Example.");
	assert_int_equal(p.allowed_domains.items[1].origin.line, 6);
	assert_int_equal(p.denied_domains.count, 1);
	assert_int_equal(p.egress.n_rules, 3);
	assert_string_equal(p.egress.rules[0].name, "ok.example");
	assert_int_equal(p.egress.rules[1].port, 443);
	assert_true(p.egress.rules[2].deny);
	assert_int_equal(p.egress.n_pins, 1);
	assert_int_equal(p.n_hosts, 2);
	assert_string_equal(p.hosts[1].value, "::1");
	assert_string_equal(p.environment_pass.items[0].text, "GH_TOKEN");
	assert_string_equal(p.environment_set[0].name, "CI");
	assert_string_equal(p.environment_set[0].value, "1");
	assert_int_equal(p.memory.value, 8ULL << 30);
	assert_int_equal(p.pids.value, 100);
	assert_int_equal(p.cpu_pct.value, 150);
	assert_int_equal(p.wall.value, 43200);
	assert_int_equal(p.wall.origin.line, 10);
	assert_true(p.nesting);
	policy_done(&p);
	policy_done(&p);
}

/* The rules work, not only the lists. */
static void decides(void **state)
{
	const struct egress_target ok = { .name = "ok.example", .port = 443 },
				   bad = { .name = "bad.example.org", .port = 443 };
	struct egress_verdict v;
	struct error e;
	struct policy p;

	assert_int_equal(load(POLICY_ADMINISTRATOR, "p", full, &p, &e), 0);
	egress_decide(&p.egress, &ok, &v);
	assert_true(v.allowed);
	assert_int_equal(v.rule, 0);
	egress_decide(&p.egress, &bad, &v);
	assert_int_equal(v.reason, EGRESS_DENIED);
	assert_int_equal(v.rule, 2);
	assert_int_equal(egress_pin_find(&p.egress, "ok.example")->n_addresses, 2);
	policy_done(&p);
}

struct mistake {
	const char *text;
	const char *step; /* after "/p/policy.json:" */
	const char *message;
	const char *remedy; /* or "" */
};

#define NET(x) "{\"sandbox\":{\"network\":{" x "}}}"
#define PROXY(x) NET("\"upstreamProxy\":{" x "}")
#define FIFTY "12345678901234567890123456789012345678901234567890"
#define FILES(x) "{\"sandbox\":{\"filesystem\":{" x "}}}"

static const struct mistake mistakes[] = {
	/* the text */
	{ "", "1", "", "" },
	{ "{", "1", "", "" },
	{ "{\n\n\"a\" 1}", "3", "", "" },
	{ "{} {}", "1", "", "" },
	{ "[]", "1", "must be an object, not an array", "" },
	{ "null", "1", "must be an object, not null", "" },
	{ "{\"limits\":{},\n\"limits\":{}}", "2", "\"limits\"", "" },
	{ "{\"limits\":{\"pids\":1,\n\"pids\":2}}", "2", "\"pids\"", "" },
	/* keys */
	{ "{\"sandbox\":\n{\"netwrk\":{}}}", "2: sandbox.netwrk", "unknown key \"netwrk\"", "sandbox.network" },
	{ NET("\"allowDomains\":[]"), "1: sandbox.network.allowDomains", "unknown key",
	  "sandbox.network.allowedDomains" },
	{ NET("\"alloweddomains\":[]"), "1: sandbox.network.alloweddomains", "unknown key",
	  "sandbox.network.allowedDomains" },
	{ "{\"allowRead\":[]}", "1: allowRead", "unknown key", "sandbox.filesystem.allowRead" },
	{ "{\"nesting\":true}", "1: nesting", "unknown key", "process.nesting" },
	{ "{\"sandbox.network\":{}}", "1: sandbox.network", "unknown key", "" },
	{ "{\"\":1}", "1", "unknown key", "" },
	{ "{\"x\\u001b[31m\":1}", "1: x?[31m", "unknown key \"x?[31m\"", "" },
	{ "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1}", "1: aaaa",
	  "unknown key", "" },
	/* types */
	{ "{\"sandbox\":[]}", "1: sandbox", "must be an object, not an array", "" },
	{ "{\"process\":\ntrue}", "1: process", "must be an object, not a boolean", "" },
	{ NET("\"allowedDomains\":\"x\""), "1: sandbox.network.allowedDomains",
	  "must be an array of strings, not a string", "" },
	{ NET("\"allowedDomains\":[\"x\",\n1]"), "2: sandbox.network.allowedDomains[1]",
	  "must be a string, not an integer", "" },
	{ "{\"session\":{\"recordSize\":\"1K\"}}", "1: session.recordSize", "1M to 16G", "64M" },
	{ "{\"session\":{\"recordSize\":\"17G\"}}", "1: session.recordSize", "1M to 16G", "64M" },
	{ "{\"session\":{\"record\":\"a.cast\"}}", "1: session.record", "true or false", "" },
	{ "{\"process\":{\"nesting\":\"yes\"}}", "1: process.nesting", "true or false", "" },
	/* denials that say why */
	{ NET("\"allowedDomains\":[{\"host\":\"a.example\",\"reason\":\"x\"}]"), "1: sandbox.network.allowedDomains[0]",
	  "Only an entry of deniedDomains", "as a string" },
	{ NET("\"deniedDomains\":[{\"host\":\"a.example\"}]"), "1: sandbox.network.deniedDomains[0]",
	  "The object has no \"reason\".", "\"host\"" },
	{ NET("\"deniedDomains\":[{\"reason\":\"x\"}]"), "1: sandbox.network.deniedDomains[0]",
	  "The object has no \"host\".", "\"host\"" },
	{ NET("\"deniedDomains\":[{\"host\":\"a.example\",\n\"why\":\"x\"}]"),
	  "2: sandbox.network.deniedDomains[0].why", "unknown key \"why\"", "\"reason\"" },
	{ NET("\"deniedDomains\":[{\"host\":\"a.example\",\n\"reason\":7}]"),
	  "2: sandbox.network.deniedDomains[0].reason", "must be a string, not an integer", "" },
	{ NET("\"deniedDomains\":[{\"host\":\"a.example\",\"reason\":\"\"}]"),
	  "1: sandbox.network.deniedDomains[0].reason", "cannot be seen", "" },
	{ NET("\"deniedDomains\":[{\"host\":\"a.example\",\"reason\":\"a\\u001b[2Jb\"}]"),
	  "1: sandbox.network.deniedDomains[0].reason", "cannot be seen", "" },
	{ NET("\"deniedDomains\":[{\"host\":\"a.example\",\"reason\":\"" FIFTY FIFTY FIFTY FIFTY "x\"}]"),
	  "1: sandbox.network.deniedDomains[0].reason", "longer than 200 bytes", "" },
	{ NET("\"deniedDomains\":[{\"host\":\"https://a.example\",\"reason\":\"x\"}]"),
	  "1: sandbox.network.deniedDomains[0]", "is a URL", "a.example" },
	{ NET("\"publish\":3000"), "1: sandbox.network.publish", "an array of ports", ":PORT" },
	{ NET("\"publish\":[true]"), "1: sandbox.network.publish[0]", "a number or a string", "PORT" },
	{ NET("\"publish\":[3000, 0]"), "1: sandbox.network.publish[1]", "\"0\" is no port", "PORT" },
	{ NET("\"publish\":[65536]"), "1: sandbox.network.publish[0]", "is no port", "PORT" },
	{ NET("\"publish\":[-3000]"), "1: sandbox.network.publish[0]", "is no port", "PORT" },
	{ NET("\"publish\":[\"3000:\"]"), "1: sandbox.network.publish[0]", "is no port", "PORT" },
	{ NET("\"publish\":[\"1:2:3\"]"), "1: sandbox.network.publish[0]", "is no port", "PORT" },
	{ NET("\"publish\":[\"127.0.0.1:80:80\"]"), "1: sandbox.network.publish[0]", "is no port", "PORT" },
	{ NET("\"publish\":[80]"), "1: sandbox.network.publish[0]", "Port 80 of the host is below 1024", "8080:80" },
	{ NET("\"publish\":[\"1023:8000\"]"), "1: sandbox.network.publish[0]", "below 1024", "8080:80" },
	{ NET("\"publish\":[8000, \"8000:80\"]"), "1: sandbox.network.publish[1]",
	  "Port 8000 of the host leads to port 8000 already", "another port" },
	/* later versions */
	{ NET("\"hostPorts\":5432"), "1: sandbox.network.hostPorts", "an array of ports", "5432" },
	{ NET("\"hostPorts\":[null]"), "1: sandbox.network.hostPorts[0]", "a number or a string", "5432" },
	{ NET("\"hostPorts\":[0]"), "1: sandbox.network.hostPorts[0]", "\"0\" is no port", "5432" },
	{ NET("\"hostPorts\":[\"1:2\"]"), "1: sandbox.network.hostPorts[0]", "\"1:2\" is no port", "5432" },
	{ NET("\"budget\":{\"bytesOut\":0}"), "1: sandbox.network.budget.bytesOut", "at least 1", "10M" },
	{ NET("\"budget\":{\"bytesIn\":\"much\"}"), "1: sandbox.network.budget.bytesIn", "at least 1", "10M" },
	{ NET("\"budget\":{\"onExceeded\":\"ask\"}"), "1: sandbox.network.budget.onExceeded", "does not enforce",
	  "stop" },
	{ NET("\"budget\":{\"onExceeded\":7}"), "1: sandbox.network.budget.onExceeded", "must be \"stop\"", "" },
	{ NET("\"budget\":{\"hosts\":{}}"), "1: sandbox.network.budget.hosts", "array of objects", "" },
	{ NET("\"budget\":{\"hosts\":[\"a.example\"]}"), "1: sandbox.network.budget.hosts[0]", "object", "bytesOut" },
	{ NET("\"budget\":{\"hosts\":[{\"bytesIn\":1}]}"), "1: sandbox.network.budget.hosts[0]", "no \"host\"",
	  "host" },
	{ NET("\"budget\":{\"hosts\":[{\"host\":\"a.example\"}]}"), "1: sandbox.network.budget.hosts[0]", "neither",
	  "bytesOut" },
	{ NET("\"budget\":{\"hosts\":[{\"host\":1,\"bytesIn\":1}]}"), "1: sandbox.network.budget.hosts[0].host",
	  "a string", "" },
	{ NET("\"budget\":{\"hosts\":[{\"host\":\"*\",\"bytesIn\":1}]}"), "1: sandbox.network.budget.hosts[0]",
	  "every host", "" },
	{ NET("\"budget\":{\"hosts\":[{\"host\":\"a.example\",\"bytes\":1}]}"),
	  "1: sandbox.network.budget.hosts[0].bytes", "unknown", "bytesOut" },
	{ NET("\"limits\":{\"connections\":4097}"), "1: sandbox.network.limits.connections", "1 to 4096", "" },
	{ NET("\"limits\":{\"newPerSecond\":0}"), "1: sandbox.network.limits.newPerSecond", "1 to 1000000", "" },
	{ NET("\"limits\":{\"perSecond\":1}"), "1: sandbox.network.limits.perSecond", "unknown", "" },
	{ NET("\"tls\":[]"), "1: sandbox.network.tls", "must be an object", "" },
	{ NET("\"tls\":{\"nosni\":1}"), "1: sandbox.network.tls.nosni", "unknown", "noSni" },
	{ NET("\"tls\":{\"ech\":false}"), "1: sandbox.network.tls.ech", "\"allow\" or \"deny\"", "" },
	{ NET("\"tls\":{\"ech\":\"Deny\"}"), "1: sandbox.network.tls.ech", "\"allow\" or \"deny\"", "" },
	{ NET("\"tls\":{\"noSni\":\"a.example\"}"), "1: sandbox.network.tls.noSni", "array of strings", "" },
	{ NET("\"tls\":{\"noSni\":[\"a.example\",\n7]}"), "2: sandbox.network.tls.noSni[1]", "must be a string", "" },
	{ NET("\"tls\":{\"noSni\":[\"*\"]}"), "1: sandbox.network.tls.noSni[0]", "every host", "" },
	{ NET("\"tls\":{\"noSni\":[\"10.0.0.0/8\"]}"), "1: sandbox.network.tls.noSni[0]", "is an address",
	  "Name a host" },
	{ NET("\"tls\":{\"noSni\":[\"localhost\"]}"), "1: sandbox.network.tls.noSni[0]", "never leaves", "" },
	{ NET("\"onUnlisted\":\"allow\""), "1: sandbox.network.onUnlisted", "must be \"deny\"", "" },
	{ NET("\"onUnlisted\":1"), "1: sandbox.network.onUnlisted", "must be \"deny\"", "" },
	{ "{\"sandbox\":{\"credentials\":{}}}", "1: sandbox.credentials", "does not enforce", "Remove" },
	{ "{\"permissions\":{}}", "1: permissions", "does not enforce", "Remove" },
	{ "{\"lock\":{}}", "1: lock", "does not enforce", "Remove" },
	/* values */
	{ NET("\"allowedDomains\":[\n\"*.com\"]"), "2: sandbox.network.allowedDomains[0]", "top-level", "two labels" },
	{ NET("\"deniedDomains\":[\"https://x/\"]"), "1: sandbox.network.deniedDomains[0]", "URL", "\"x\"" },
	{ FILES("\"allowRead\":[\"x\"]"), "1: sandbox.filesystem.allowRead[0]", "relative", "absolute" },
	{ FILES("\"denyRead\":[\"C:\\\\x\"]"), "1: sandbox.filesystem.denyRead[0]", "relative", "absolute" },
	{ FILES("\"denyWrite\":[\"/a/../b\"]"), "1: sandbox.filesystem.denyWrite[0]", "\"..\"", "" },
	{ FILES("\"denyRead\":[\"/**\"]"), "1: sandbox.filesystem.denyRead[0]", "whole machine", "" },
	{ FILES("\"allowRead\":[\"/**/x\"]"), "1: sandbox.filesystem.allowRead[0]", "whole machine", "folder" },
	{ FILES("\"allowWrite\":[\"/*\"]"), "1: sandbox.filesystem.allowWrite[0]", "whole machine", "folder" },
	{ FILES("\"overlay\":[\"/a/*\"]"), "1: sandbox.filesystem.overlay[0]", "pattern", "each" },
	{ FILES("\"overlay\":true"), "1: sandbox.filesystem.overlay", "an array of strings", "" },
	{ FILES("\"overlayProject\":1"), "1: sandbox.filesystem.overlayProject", "true or false", "" },
	{ FILES("\"toolchains\":\"no\""), "1: sandbox.filesystem.toolchains", "true or false", "" },
	{ FILES("\"lateFiles\":true"), "1: sandbox.filesystem.lateFiles", "\"report\" or \"require\"", "" },
	{ FILES("\"latePlants\":true"), "1: sandbox.filesystem.latePlants", "\"report\" or \"require\"", "" },
	{ FILES("\"lateFiles\":\"Require\""), "1: sandbox.filesystem.lateFiles", "\"report\" or \"require\"", "" },
	{ FILES("\"protect\":[]"), "1: sandbox.filesystem.protect", "must be an object", "" },
	{ FILES("\"protect\":{\n\"dotenvs\":true}"), "2: sandbox.filesystem.protect.dotenvs", "no protection",
	  "dotenv," },
	{ FILES("\"protect\":{\"\":true}"), "1: sandbox.filesystem.protect.", "no protection", "" },
	{ FILES("\"protect\":{\"keys\":0}"), "1: sandbox.filesystem.protect.keys", "true or false", "" },
	{ FILES("\"devices\":[\"/dev/sda\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "/dev/dri" },
	{ FILES("\"devices\":[\"/dev/*\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "/dev/dri" },
	{ FILES("\"devices\":[\"/dev/d*\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "/dev/dri" },
	{ FILES("\"devices\":[\"/dev/dri/../sda\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "" },
	{ FILES("\"devices\":[\"/devdri\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "" },
	{ FILES("\"devices\":[\"./dri\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "" },
	{ FILES("\"devices\":[\"/dev/dri2\"]"), "1: sandbox.filesystem.devices[0]", "not a device", "" },
	{ "{\"degraded\":true}", "1: degraded", "\"refuse\" or \"allow\"", "" },
	{ FILES("\"allowWrite\":[\"/\"]"), "1: sandbox.filesystem.allowWrite[0]", "whole machine", "" },
	{ FILES("\"allowWrite\":[\"\"]"), "1: sandbox.filesystem.allowWrite[0]", "empty", "" },
	{ "{\"environment\":{\"pass\":[\"A\",\n\"LC_*\"]}}", "2: environment.pass[1]", "pattern", "Name each" },
	{ "{\"environment\":{\"pass\":[\"A=B\"]}}", "1: environment.pass[0]", "not the name of a variable", "" },
	{ "{\"environment\":{\"set\":{\"A-B\":\"x\"}}}", "1: environment.set.A-B", "not the name of a variable", "" },
	{ "{\"environment\":{\"set\":{\"A\":1}}}", "1: environment.set.A", "must be a string", "" },
	{ "{\"environment\":{\"set\":[]}}", "1: environment.set", "must be an object", "" },
	{ "{\"environment\":{\"set\":{\"A\":\"\\udc41\"}}}", "1", "", "" },
	{ "{\"limits\":{\"memory\":0}}", "1: limits.memory", "at least 1M", "8G" },
	{ "{\"limits\":{\"memory\":\"4\"}}", "1: limits.memory", "at least 1M", "8G" },
	{ "{\"limits\":{\"memory\":-1}}", "1: limits.memory", "at least 1M", "8G" },
	{ "{\"limits\":{\"memory\":\"8 G\"}}", "1: limits.memory", "at least 1M", "8G" },
	{ "{\"limits\":{\"memory\":\"9000000T\"}}", "1: limits.memory", "at least 1M", "8G" },
	{ "{\"limits\":{\"memory\":null}}", "1: limits.memory", "at least 1M", "8G" },
	{ "{\"limits\":{\"pids\":0}}", "1: limits.pids", "1 to", "" },
	{ "{\"limits\":{\"pids\":\"10\"}}", "1: limits.pids", "1 to", "" },
	{ "{\"limits\":{\"pids\":4194305}}", "1: limits.pids", "1 to", "" },
	{ "{\"limits\":{\"pids\":1.5}}", "1: limits.pids", "1 to", "" },
	{ "{\"limits\":{\"cpus\":0}}", "1: limits.cpus", "processors", "" },
	{ "{\"limits\":{\"cpus\":-1.0}}", "1: limits.cpus", "processors", "" },
	{ "{\"limits\":{\"cpus\":0.001}}", "1: limits.cpus", "processors", "" },
	{ "{\"limits\":{\"cpus\":1e300}}", "1: limits.cpus", "processors", "" },
	{ "{\"limits\":{\"cpus\":\"2\"}}", "1: limits.cpus", "processors", "" },
	{ "{\"limits\":{\"cpus\":\"%\"}}", "1: limits.cpus", "processors", "" },
	{ "{\"limits\":{\"wall\":\"0s\"}}", "1: limits.wall", "one second", "12h" },
	{ "{\"limits\":{\"wall\":\"1h30m\"}}", "1: limits.wall", "one second", "12h" },
	{ "{\"limits\":{\"wall\":\"9999999999999d\"}}", "1: limits.wall", "one second", "12h" },
	/* the proxy that leads out */
	{ PROXY(""), "1: sandbox.network.upstreamProxy", "no \"url\"", "http://" },
	{ NET("\"upstreamProxy\":\"http://p:1\""), "1: sandbox.network.upstreamProxy", "must be an object", "http://" },
	{ PROXY("\"url\":1"), "1: sandbox.network.upstreamProxy.url", "must be a string", "" },
	{ PROXY("\"url\":\"p:3128\""), "1: sandbox.network.upstreamProxy.url", "does not begin", "http://" },
	{ PROXY("\"url\":\"http://p\""), "1: sandbox.network.upstreamProxy.url", "host and its port", "http://" },
	{ PROXY("\"url\":\"http://p:3128/x\""), "1: sandbox.network.upstreamProxy.url", "host and its port", "" },
	{ PROXY("\"url\":\"http://127.1:3128\""), "1: sandbox.network.upstreamProxy.url", "host and its port", "" },
	{ PROXY("\"url\":\"http://[p]:3128\""), "1: sandbox.network.upstreamProxy.url", "host and its port", "" },
	{ PROXY("\"url\":\"http://::1:3128\""), "1: sandbox.network.upstreamProxy.url", "host and its port", "" },
	{ PROXY("\"url\":\"https://p\""), "1: sandbox.network.upstreamProxy.url", "host and its port", "http://" },
	{ PROXY("\"url\":\"https://u:secret@p:3128\""), "1: sandbox.network.upstreamProxy.url", "no user", "authFile" },
	{ PROXY("\"caFile\":\"/etc/ssl/x.pem\""), "1: sandbox.network.upstreamProxy.caFile", "/etc/isod/", "mode 644" },
	{ PROXY("\"url\":\"http://p:1\",\"caFile\":\"x\""), "1: sandbox.network.upstreamProxy", "without TLS", "s:" },
	{ PROXY("\"url\":\"http://u:secret@p:3128\""), "1: sandbox.network.upstreamProxy.url", "no user", "authFile" },
	{ PROXY("\"authFile\":\"/root/x\""), "1: sandbox.network.upstreamProxy.authFile", "/etc/isod/", "mode 600" },
	{ PROXY("\"authFile\":\"/etc/isod/../x\""), "1: sandbox.network.upstreamProxy.authFile", "/etc/isod/", "" },
	{ PROXY("\"authFile\":\"\""), "1: sandbox.network.upstreamProxy.authFile", "/etc/isod/", "" },
	{ PROXY("\"password\":\"x\""), "1: sandbox.network.upstreamProxy.password", "unknown key", "authFile" },
	{ PROXY("\"bypass\":\"x\""), "1: sandbox.network.upstreamProxy.bypass", "array of strings", "" },
	{ PROXY("\"bypass\":[\"x\",\n1]"), "2: sandbox.network.upstreamProxy.bypass[1]", "must be a string", "" },
	{ PROXY("\"bypass\":[\"*\"]"), "1: sandbox.network.upstreamProxy.bypass[0]", "every host", "" },
	/* pins */
	{ "{\"hosts\":[]}", "1: hosts", "must be an object", "" },
	{ "{\"hosts\":{\"x\":\"127.0.0.1\"}}", "1: hosts.x", "an array of 1 to 16", "" },
	{ "{\"hosts\":{\"x\":[]}}", "1: hosts.x", "an array of 1 to 16", "" },
	{ "{\"hosts\":{\"x\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}", "1: hosts.x", "an array of 1 to 16", "" },
	{ "{\"hosts\":{\"x\":[1]}}", "1: hosts.x", "must be a string", "" },
	{ "{\"hosts\":{\"x\":[\"127.1\"]}}", "1: hosts.x", "not an address", "" },
	{ "{\"hosts\":{\"x\":[\"127.0.0.1:80\"]}}", "1: hosts.x", "not an address", "" },
	{ "{\"hosts\":{\"x\":[\"0.0.0.0\"]}}", "1: hosts.x", "No host", "" },
	{ "{\"hosts\":{\"x\":[\"::\"]}}", "1: hosts.x", "No host", "" },
	{ "{\"hosts\":{\"x\":[\"::ffff:0.0.0.0\"]}}", "1: hosts.x", "No host", "" },
	{ "{\"hosts\":{\"x\":[\"224.0.0.1\"]}}", "1: hosts.x", "No host", "" },
	{ "{\"hosts\":{\"x\":[\"ff02::1\"]}}", "1: hosts.x", "No host", "" },
	{ "{\"hosts\":{\"*.example.com\":[\"127.0.0.1\"]}}", "1: hosts.*.example.com", "not a host name", "" },
	{ "{\"hosts\":{\"x:80\":[\"127.0.0.1\"]}}", "1: hosts.x:80", "not a host name", "" },
	{ "{\"hosts\":{\"localhost\":[\"127.0.0.1\"]}}", "1: hosts.localhost", "cannot be pinned", "" },
	{ "{\"hosts\":{\"x.example\":[\"127.0.0.1\"],\n\"X.example.\":[\"127.0.0.1\"]}}", "2: hosts.X.example.",
	  "named twice", "" },
};

static void every_mistake(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		const struct mistake *m = &mistakes[i];
		char step[128];
		struct error e;
		struct policy p;
		int r = load(POLICY_ADMINISTRATOR, "/p/policy.json", m->text, &p, &e);

		if (r >= 0)
			fail_msg("%s was taken", m->text);
		snprintf(step, sizeof(step), "/p/policy.json:%s", m->step);
		if (e.code != ERROR_POLICY || strncmp(e.step, step, strlen(step)) != 0 ||
		    !strstr(e.message, m->message) || !strstr(e.remedy, m->remedy))
			fail_msg("%s: %s | %s | %s", m->text, e.step, e.message, e.remedy);
		assert_int_equal(e.message[strlen(e.message) - 1], '.');
		policy_done(&p);
	}
}

static void only_the_administrator_pins(void **state)
{
	static const enum policy_layer_kind others[] = { POLICY_USER, POLICY_FILE, POLICY_COMMAND_LINE };
	struct error e;
	struct policy p;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(load(others[i], "u", "{\"hosts\":{}}", &p, &e), -EINVAL);
		assert_string_equal(e.step, "u:1: hosts");
		assert_non_null(strstr(e.message, "Only the administrator's"));
		policy_done(&p);
	}
}

static void steps(void **state)
{
	char path[300];
	struct error e;
	struct policy p;

	/* Without a path the layer is named. */
	assert_int_equal(load(POLICY_COMMAND_LINE, "", "{\"x\":1}", &p, &e), -EINVAL);
	assert_string_equal(e.step, "command-line:1: x");
	policy_done(&p);
	assert_int_equal(load(POLICY_COMMAND_LINE, NULL, "{\"x\":1}", &p, &e), -EINVAL);
	assert_string_equal(e.step, "command-line:1: x");
	policy_done(&p);
	/* A long path loses its beginning. */
	memset(path, 'd', sizeof(path));
	snprintf(path + 280, sizeof(path) - 280, "/policy.json");
	assert_int_equal(load(POLICY_FILE, path, "{\"limits\":{\"pids\":0}}", &p, &e), -EINVAL);
	assert_memory_equal(e.step, "...d", 4);
	assert_non_null(strstr(e.step, "d/policy.json:1: limits.pids"));
	assert_int_equal(strlen(e.step), ERROR_STEP_MAX - 1);
	policy_done(&p);
}

static void good_values(void **state)
{
	static const struct {
		const char *text;
		size_t offset;
		uint64_t value;
	} cases[] = {
		{ "{\"limits\":{\"memory\":1048576}}", offsetof(struct policy, memory), 1U << 20 },
		{ "{\"limits\":{\"memory\":\"64m\"}}", offsetof(struct policy, memory), 64U << 20 },
		{ "{\"limits\":{\"pids\":1}}", offsetof(struct policy, pids), 1 },
		{ "{\"limits\":{\"cpus\":2}}", offsetof(struct policy, cpu_pct), 200 },
		{ "{\"limits\":{\"cpus\":0.5}}", offsetof(struct policy, cpu_pct), 50 },
		{ "{\"limits\":{\"cpus\":\"150%\"}}", offsetof(struct policy, cpu_pct), 150 },
		{ "{\"limits\":{\"wall\":90}}", offsetof(struct policy, wall), 90 },
		{ "{\"limits\":{\"wall\":\"30m\"}}", offsetof(struct policy, wall), 1800 },
		{ "{\"limits\":{}}", offsetof(struct policy, pids), 4096 },
		{ "{}", offsetof(struct policy, memory), 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e;
		struct policy p;

		if (load(POLICY_USER, "u", cases[i].text, &p, &e) < 0)
			fail_msg("%s: %s", cases[i].text, e.message);
		assert_int_equal(((struct policy_number *)((char *)&p + cases[i].offset))->value, cases[i].value);
		policy_done(&p);
	}
}

/* Bytes that are not text travel as json/bytes.h says, in and out. */
static void bytes(void **state)
{
	static const char text[] = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/a\\udcff\"]}},"
				   "\"environment\":{\"set\":{\"A\":\"\\udc80\"}}}";
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1 << 20);
	struct json_writer *w = json_write_new(&b);
	struct error e;
	struct policy p;

	assert_int_equal(load(POLICY_USER, "u", text, &p, &e), 0);
	assert_string_equal(p.allow_read.items[0].text, "/a\xff");
	assert_string_equal(p.environment_set[0].value, "\x80");
	policy_write(&p, w);
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(buffer_append(&b, "", 1), 0);
	assert_non_null(strstr(b.data, "/a\\udcff"));
	policy_done(&p);
}

static void bounds(void **state)
{
	struct policy_input layers[LIMIT_POLICY_LAYERS + 1];
	size_t len = LIMIT_POLICY_FILE + 1;
	char *text = malloc(len);
	struct error e = ERROR_INIT;
	struct policy p;

	assert_non_null(text);
	memset(text, ' ', len);
	text[0] = '{';
	text[1] = '}';
	layers[0] = (struct policy_input){ .layer = POLICY_USER, .path = "u", .text = text, .len = len };
	assert_int_equal(policy_load(layers, 1, &p, &e), -EINVAL);
	assert_non_null(strstr(e.message, "longer than 1048576"));
	policy_done(&p);
	layers[0].len = len - 1;
	e = (struct error)ERROR_INIT;
	assert_int_equal(policy_load(layers, 1, &p, &e), 0);
	policy_done(&p);
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		layers[i] = (struct policy_input){ .layer = POLICY_FILE, .path = "f", .text = "{}", .len = 2 };
	assert_int_equal(policy_load(layers, LIMIT_POLICY_LAYERS, &p, &e), 0);
	policy_done(&p);
	assert_int_equal(policy_load(layers, LIMIT_POLICY_LAYERS + 1, &p, &e), -E2BIG);
	assert_int_equal(e.code, ERROR_LIMIT);
	policy_done(&p);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),    cmocka_unit_test(decides),
		cmocka_unit_test(every_mistake), cmocka_unit_test(steps),
		cmocka_unit_test(good_values),   cmocka_unit_test(only_the_administrator_pins),
		cmocka_unit_test(bytes),         cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
