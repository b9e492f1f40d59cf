"""What a rule names without a wildcard is kept when the host puts another file in its place, which takes the mount along."""
import json
import os

import pytest

from test_late import Session, as_user


@pytest.fixture
def session(isod, project):
    """No rule about all folders is in force, which the guard would be there for anyhow."""
    policy = os.path.join(project, 'policy.json')
    document = {'denyRead': ['./notes', './closed'], 'protect': {'dotenv': False, 'keys': False, 'tokens': False, 'cloud': False}}
    as_user('mkdir closed; echo SECRET1 > closed/x; echo SECRET1 > notes; echo open > plain', project)
    with open(policy, 'w', encoding='utf-8') as f:
        json.dump({'sandbox': {'filesystem': document}}, f)
    os.chmod(policy, 0o644)
    s = Session(isod, project, '--policy', policy)
    yield s
    if s.process.poll() is None:
        s.kill()


def test_denied_files_that_are_replaced(session, project):
    assert 'SECRET' not in session.do('cat notes closed/x')
    as_user('echo SECRET2 > n; mv n notes; mkdir c; echo SECRET2 > c/x; mv closed old; mv c closed', project)
    answer = session.do('cat notes; cat closed/x; cat plain; cp notes copy; cp -r closed copies')
    assert 'SECRET' not in answer and 'open' in answer, answer
    assert 'SECRET' not in session.do('cat copy copies/x')
    # where it was moved to it is still covered
    assert 'SECRET' not in session.do('cat old/x')
    session.end()
