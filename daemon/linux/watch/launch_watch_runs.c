#include "daemon/linux/watch/launch_watch_runs.h"

#include <string.h>

#include "base/cleanup.h"

bool launch_watch_runs(const char *name)
{
	static const char *const names[] = { "Makefile",     "makefile",     "GNUmakefile",      "justfile",
					     "Justfile",     "Taskfile.yml", "package.json",     "pyvenv.cfg",
					     "setup.py",     "conftest.py",  "sitecustomize.py", "noxfile.py",
					     "tox.ini",      "build.rs",     "build.gradle",     "CMakeLists.txt",
					     "Rakefile",     "Gemfile",      "Dockerfile",       "docker-compose.yml",
					     "compose.yaml", "gulpfile.js",  "Gruntfile.js",     "Vagrantfile" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}
