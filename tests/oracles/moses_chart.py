"""A hierarchical model of Moses that a person can overlook: the files that moses_chart would read."""

from dragoman.formats.moses.rule_table import write_glue_grammar

RULES = """\
[X][X] la [X][X] [X] ||| [X][X] the [X][X] [X] ||| 0.5 0.25 1 0.125 ||| 0-2 1-1 2-0 ||| 4 3 2 ||| |||
la [X] ||| the [X] ||| 0.5 0.25 1 0.5 ||| 0-0 ||| 1 1 1 ||| |||
la [X] ||| a [X] ||| 0.5 0.25 0.5 0.5 ||| 0-0 ||| 1 1 1 ||| |||
"""
ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-1\t</s>\n-1\tthe\n\n\\end\\\n"
INI = """
[non-terminals]
X
[search-algorithm]
3
[max-chart-span]
12
1000
[feature]
WordPenalty
PhrasePenalty
UnknownWordPenalty
PhraseDictionaryMemory name=T0 num-features=4 path=rules
PhraseDictionaryMemory name=T1 num-features=1 path=glue
KENLM name=LM0 factor=0 path=lm order=1
[weight]
WordPenalty0= -0.5
PhrasePenalty0= 0.125
T0= 1 2 3 4
T1= 2
LM0= 0.75
"""


def write_model(folder):
    """Write the model; `moses.ini` names the other files."""
    for name, text in (("rules", RULES), ("lm", ARPA), ("moses.ini", INI)):
        (folder / name).write_text(text)
    write_glue_grammar(folder / "glue")
    return folder
