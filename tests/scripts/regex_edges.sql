-- Regular expressions: what captures, what is compared without case, look-behinds of several lengths, large ones.

-- Nothing in a look-around captures, and nothing in it refers back.
SELECT regexp_match('foobar', '(?=foo(bar))f(o)'), regexp_match('foobar', '(?=((f)o))(.)(?!(x))'), regexp_match('foobar', '(?=(foo))');
SELECT regexp_replace('foobar', '(?<=(o))b(a)', '[\1]'), regexp_replace('foobar', '(o)(?<=(o))\1', '<\1>'), regexp_match('abab', '(ab)(?=(ab))(ab)');
SELECT 'oo' ~ '(o)(?=\1)';
SELECT 'oo' ~ '(?=(o)\1)';
SELECT 'oo' ~ '(?=(o))\1';
SELECT 'oo' ~ '(o)(?!x(\1))';
SELECT regexp_count('foo bar', '(?<!(o))o'), regexp_instr('foobar', '(?=(o))(o)', 1, 1, 0, '', 1), regexp_substr('foobar', '(?<=(f))(o+)', 1, 1, '', 1);

-- What comes again is compared without case if all is.
SELECT 'Hello hello' ~* '^(\w+) \1$', 'Hello hello' ~ '^(\w+) \1$', 'Hello hello' ~ '(?i)^(\w+) \1$', 'Hello hello' ~* '(?c)^(\w+) \1$', 'Hello hell' ~* '^(\w+) \1$';
SELECT regexp_match('xAbABy', '(ab)\1', 'i'), regexp_replace('Aa bB cd', '(\w)\1', '<\1>', 'gi'), regexp_matches('AaBBcC', '([ac])\1', 'gi');
SELECT regexp_count('AaaABb', '(.)\1', 1, 'i'), regexp_substr('1-Ab-aB', '(\w\w)-\1', 1, 1, 'i'), regexp_split_to_array('aXxbyYc', '([xy])\1', 'i');
SELECT regexp_match('AbcABCx', '^(a(b)c)\1\x78$', 'i');
SELECT regexp_match('ABab', '((?i)ab)\1');

-- Look-behinds of several lengths.
SELECT 'Mrs X' ~ '(?<=Mr|Mrs) X', 'Mrs X' ~ '(?<=Mrs?) X', 'Mrs X' ~ '(?<!Mr|Mrs) X', 'Ms X' ~ '(?<!Mrs?) X', 'Mrs X' ~* '(?<=(m|d)rs{0,2}) x';
SELECT regexp_replace('a1 bb22 ccc333', '(?<=[a-c]{1,2}|x)\d', '#', 'g'), regexp_match('abbcX', '(?<=a(b|bb)c)(X)'), regexp_split_to_array('a,b;c', '(?<=^|[,;]\w?)');
SELECT 'x   y' ~ '(?<=\s+)y', 'xaab' ~ '(?<=a*|c{2,})b', 'xb' ~ '(?<=a+)b', 'X' ~ '(?<!a?)X', 'abcX' ~ '(?<=a(?:b|bc|$)(?!c))X', 'abbcX' ~ '(?<=a(?:b|bc))X';
SELECT 'foobar' ~ '(?<=f(?=o)(o|oo)(?<!oooo?))b', 'foobar' ~ '(?<=\mf\w{1,4}\M)$', 'foo bar' ~ '(?<=[()[:space:]x]b?)ar';

-- What takes no characters may be repeated in parentheses.
SELECT 'ab' ~ '^(?:)*a(?:^)*b$', 'ab' ~ '^a(?:(?=b)){3}b', 'ab' ~ '^a(?:(?=c))+b', 'ab' ~ '(?=(^)*a)(?<=()*)ab', 'ab' ~ '(?:(?:$)?)*ab(?:$|c){2}';

-- Much is no mistake.
SELECT 'a' ~ '^(\w{1,100}\.){10}$', 'ab.c.' ~ '^(\w{1,100}\.){2,10}$';
