#!/usr/bin/env python3
"""isoctl guard beside bash itself: test_bash.py ISOCTL. The same lines, made by chance from a fixed seed.

Valid or not as "bash -n" has it, and, of lines of simple commands, the words that bash passes on.
"""
import json
import os
import random
import subprocess
import sys

ISOCTL = sys.argv[1]
ENV = {'PATH': '/nowhere', 'HOME': '/home/u', 'LC_ALL': 'C.UTF-8'}
ATOMS = ['a', 'git', 'push', '~', '~/z', '"s  q"', "'t  u'", '\\ ', "\\'", "$'\\x41\\n'", '{a,b}', '{1..3}', '=', 'a=b', 'a=~/b:~', '#',
         '-n', '\\\n', '"\\$"', '{x', '}', 'a"b\'c"', "'a\"b'", '%', '^', ':', '$"l"', '@', 'a#b', '{a,{b,c}}', '{a,}', '""', "''", '{}',
         '{03..1}', '\\\\', '"\\\\"', '"\\a"', "$'\\101\\u00e9'", '+', ',', '${IFS}', '{a..c}x']
EXPANSIONS = ['$X', '${X:-y z}', '"q $X"', '$(echo hi)', '"$(echo "in")"', '$((1+2))', '<(echo p)', '!', '$', '[a]', '*', '?x']
JOINTS = ['; ', ' && ', ' || ', ' | ', ' & ', '\n', ' |& ']


class Maker:
    def __init__(self, seed, atoms):
        self.random = random.Random(seed)
        self.atoms = atoms

    def word(self):
        return ''.join(self.random.choice(self.atoms) for _ in range(self.random.choice([1, 1, 1, 2, 3])))

    def simple(self):
        r = self.random
        text = r.choice(['', '', '', '', 'A=1 ', 'C="q r" ', 'D+=x ', 'arr=(1 2) '])
        text += r.choice(['git', 'echo', 'cmd', '"x"']) + ''.join(' ' + self.word() for _ in range(r.randint(0, 3)))
        if r.random() < .2:
            text += r.choice([' >f', ' 2>&1', ' <g', ' >>h', ' &>z', ' <<<w', ' 3>x', ' {fd}>y', ' >|q'])
        return text

    def command(self, depth=0):
        r = self.random
        if depth > 3 or r.random() < .5:
            return self.simple()

        def inner():
            return self.list(depth + 1)
        return r.choice([
            lambda: f'( {inner()} )', lambda: f'{{ {inner()}; }}', lambda: f'if {inner()}; then {inner()}; else {inner()}; fi',
            lambda: f'if {inner()}; then {inner()}; elif {inner()}; then {inner()}; fi', lambda: f'while {inner()}; do {inner()}; done',
            lambda: f'for i in {self.word()} {self.word()}; do {inner()}; done', lambda: f'for i do {inner()}; done',
            lambda: f'case {self.word()} in {self.word()}) {inner()};; *) ;; esac', lambda: f'f() {{ {inner()}; }}',
            lambda: f'function g {{ {inner()}; }}', lambda: '(( 1 + 2 ))', lambda: f'! {self.simple()}', lambda: f'time {self.simple()}',
            lambda: f'for ((i=0;i<2;i++)); do {inner()}; done', lambda: f'{self.command(depth + 1)} > {self.word()}'])()

    def list(self, depth=0):
        text = self.command(depth)
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            text += self.random.choice(JOINTS) + self.command(depth)
        return text

    def damaged(self):
        r, text = self.random, self.list()
        i = r.randrange(len(text))
        if r.random() < .5:
            return text[:i] + text[i + 1:]
        return text[:i] + r.choice([';', '&', '|', '(', ')', '{', '}', '"', "'", '\n', ' ', '$', ' then ', ' done ', '<', '>', ' fi ', ' do ']) + text[i:]


def explained(text):
    out = subprocess.run([ISOCTL, 'guard', '--explain', '--json', '--check', text], env=ENV, capture_output=True, timeout=60, check=True)
    return json.loads(out.stdout)


def valid(text):
    """As bash says. None: it decides only when it runs the line."""
    done = subprocess.run(['/bin/bash', '-n', '-c', text], env=ENV, capture_output=True, timeout=60, check=False)
    return done.returncode == 0 and not done.stderr


def words(text):
    """What each simple command is given, in order, by a bash in which every command is unknown."""
    script = "command_not_found_handle() { printf '%s\\0' \"$#\" \"$@\" >&9; }; enable -n echo; exec 9>&1 >/dev/null 2>&1\n" + text
    done = subprocess.run(['/bin/bash', '-c', script], env=ENV, capture_output=True, timeout=60, check=False, cwd='/')
    parts, found = done.stdout.split(b'\0')[:-1], []
    while parts:
        n = int(parts.pop(0))
        found.append([p.decode('utf-8', 'surrogateescape') for p in parts[:n]])
        parts = parts[n:]
    return found


def same(bash, ours):
    """A word that ours does not know may be any."""
    return len(bash) == len(ours) and all(len(b) == len(o) and all(y is None or x == y for x, y in zip(b, o)) for b, o in zip(bash, ours))


def main():
    wrong, judged, refused, compared, unknown = [], 0, 0, 0, 0
    maker = Maker(1, ATOMS + EXPANSIONS)
    for n in range(300):
        text = maker.damaged() if n % 2 else maker.list()
        bash, ours = valid(text), explained(text)['complete']
        judged += 1
        refused += not bash
        if bash != ours:
            wrong.append(f'{text!r}: bash {bash}, ours {ours}')
    maker = Maker(2, ATOMS)
    for _ in range(250):
        text = '\n'.join('cmd ' + ' '.join(maker.word() for _ in range(maker.random.randint(1, 4))) for _ in range(2))
        if not valid(text):
            continue
        bash, ours = words(text), [c['words'] for c in explained(text)['commands']]
        compared += 1
        unknown += any(word is None for command in ours for word in command)
        if not same(bash, ours):
            wrong.append(f'{text!r}: bash {bash}, ours {ours}')
    print('\n'.join(wrong[:20]))
    print(f'{judged} lines judged, {refused} of them refused by bash; words of {compared} compared, {unknown} with one that is not known; {len(wrong)} wrong')
    # Both kinds must have been there, or nothing was compared.
    sys.exit(0 if not wrong and refused > 40 and judged - refused > 100 and compared - unknown > 150 else 1)


main()
