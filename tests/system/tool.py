"""One row of a table of tools: what it does with an allowed host and with one that is not. docs/EGRESS.md has the same rows."""
import os
import shutil
from dataclasses import dataclass

from registries import NPM_TOOLS, node_options

DENIED = 'evil.example'


@dataclass
class Tool:
    script: str  # {host}, {ca}: of the run
    works: str  # its output with the allowed host
    shows: str  # and with the other
    via: str  # the way in of the allowed connection: connect, http, capture
    host: str = 'ok.example'
    port: int = 443
    tries: int = 1  # how often it asks at most where the answer stays no: more of that is a tool that hangs

    def command(self, host, ca):
        return 'exec 2>&1 </dev/null; ' + self.script.format(host=host, ca=ca, npm=NPM_TOOLS)


def run(isod, web, project, tool, host):
    """Its output and the connections of its session."""
    ca = os.path.join(project, 'ca.crt')
    shutil.copy(web.ca, ca)
    os.chmod(ca, 0o644)
    options, env = node_options()
    allow = [f'{h}:{tool.port}' for h in ('ok.example', 'npm.example')]
    r = isod.sh(tool.command(host, ca), cwd=project, env=env,
                options=[*options, '--allow-read', os.path.dirname(NPM_TOOLS), *(o for h in allow for o in ('--allow-domain', h))])
    return r, [e for e in isod.audit(isod.last_session()['id']) if e.get('verdict')]


def check_works(isod, web, project, tool):
    r, events = run(isod, web, project, tool, tool.host)
    assert r.rc == 0 and tool.works in r.text, r
    ways = {e['via'] for e in events if e['verdict'] == 'allow' and e['port'] == tool.port}
    assert ways == {tool.via}, (events, r)


def check_refused(isod, web, project, tool):
    before = web.requests()
    r, events = run(isod, web, project, tool, DENIED)
    assert tool.shows in r.text, r
    assert web.requests() == before
    refused = [e for e in events if e['name'] == DENIED]
    assert refused and {e['verdict'] for e in refused} == {'deny'} and {e['reason'] for e in refused} == {'not-listed'}, events
    assert len([e for e in refused if e['via'] != 'dns']) <= tool.tries, (refused, r)
