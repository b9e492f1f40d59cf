"""Case 8: every refusal in the sources is a whole sentence with a cause; no placeholder can be what a user sees."""
import os
import re

from conftest import TOP

ROOMS = ('base', 'client', 'daemon', 'guard', 'json', 'policy', 'proto')
# What takes the place of the format and of the remedy in each of the functions that fill a struct error.
FUNCTIONS = {'error_set': (5, 4), 'launch_step_fail': (3, 2)}
BEGINS = re.compile(r'[A-Z%/]|isod|isoctl|usage: |lo |--[a-z]|cgroup\.procs|[a-z_]+\(2\)|\\"')


def arguments(source, at):
    """The arguments of a call as source text; at stands behind its opening parenthesis."""
    depth, current, found = 1, '', []
    while depth:
        c = source[at]
        if c in '"\'':
            end = at + 1
            while source[end] != c:
                end += 2 if source[end] == '\\' else 1
            current += source[at:end + 1]
            at = end + 1
            continue
        depth += (c in '([{') - (c in ')]}')
        if depth == 1 and c == ',':
            found.append(current.strip())
            current = ''
        elif depth:
            current += c
        at += 1
    return [*found, current.strip()]


def text(argument):
    """What a literal (or a choice of literals) says; None for an expression."""
    if re.match(r'\w+(\(|$)', argument):
        return None
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', argument)
    return ''.join(parts) if parts else None


def messages():
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(TOP, room)):
            for name in sorted(names):
                if not name.endswith('.c'):
                    continue
                with open(os.path.join(folder, name), encoding='utf-8') as f:
                    source = f.read()
                for call in re.finditer(r'\b(error_set|launch_step_fail)\s*\(', source):
                    found = arguments(source, call.end())
                    sentence, remedy = FUNCTIONS[call.group(1)]
                    if len(found) > sentence and not found[0].startswith('struct'):
                        yield f'{name}:{source.count(chr(10), 0, call.start()) + 1}', text(found[sentence]), text(found[remedy])


def test_every_message_is_a_sentence():
    found = list(messages())
    assert len(found) > 150
    for place, sentence, remedy in found:
        for part in (sentence, remedy):
            assert not part or not [p for p in ('${', '{{', '(null)', '@@') if p in part], (place, part)
        if sentence and sentence != '%s' and not sentence.startswith('usage: '):
            assert sentence[-1] in '.?' or sentence.endswith('%s'), (place, sentence)
            assert BEGINS.match(sentence), (place, sentence)
        # a remedy is no format: a conversion in it would be shown as it is
        assert not remedy or (remedy[-1] in '.?' and not re.search(r'%[a-z]', remedy)), (place, remedy)
