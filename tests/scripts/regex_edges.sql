-- Regular expressions: what captures, what is compared without case, look-behinds of several lengths, large ones.

-- Nothing in a look-around captures, and nothing in it refers back.
SELECT regexp_match('foobar', '(?=foo(bar))f(o)'), regexp_match('foobar', '(?=((f)o))(.)(?!(x))'), regexp_match('foobar', '(?=(foo))');
SELECT regexp_replace('foobar', '(?<=(o))b(a)', '[\1]'), regexp_replace('foobar', '(o)(?<=(o))\1', '<\1>'), regexp_match('abab', '(ab)(?=(ab))(ab)');
SELECT 'oo' ~ '(o)(?=\1)';
SELECT 'oo' ~ '(?=(o)\1)';
SELECT 'oo' ~ '(?=(o))\1';
SELECT 'oo' ~ '(o)(?!x(\1))';
SELECT regexp_count('foo bar', '(?<!(o))o'), regexp_instr('foobar', '(?=(o))(o)', 1, 1, 0, '', 1), regexp_substr('foobar', '(?<=(f))(o+)', 1, 1, '', 1);
