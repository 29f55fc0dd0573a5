"""Hypothesis strategies for the things of tracegen."""

from hypothesis import strategies as st

from tracegen.values import (
    FALSE,
    TRUE,
    Int,
    ModelValue,
    Set,
    Str,
    Value,
    function,
    is_identifier,
    record,
    seq,
)

# Quotes, backslashes, what TLA+ escapes, what a line-based or a DOT reader could trip over.
TRICKY = '"\\\n\t\r\f /[]<>{}()@:;,=-x\x1c\x85\u2028é€'

strings = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(codec="utf-8")), max_size=8)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: is_identifier(name) and name not in {"Int", "Nat", "Real"}
)
integers = st.one_of(st.integers(-3, 5), st.integers())

atoms: st.SearchStrategy[Value] = st.one_of(
    st.sampled_from([TRUE, FALSE]),
    integers.map(Int),
    strings.map(Str),
    names.map(ModelValue),
)


def mappings(keys, items, min_size=0):
    """Small dictionaries. (`st.dictionaries` prints its whole strategy whenever keys meet.)"""
    return st.lists(st.tuples(keys, items), min_size=min_size, max_size=3).map(dict)


def functions(elements: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    """Sequences, records and functions with other domains."""
    arguments = st.one_of(names.map(Str), st.integers(0, 3).map(Int), elements)
    return st.one_of(
        st.lists(elements, max_size=3).map(seq),
        mappings(names, elements).map(record),
        mappings(arguments, elements).map(function),
    )


values: st.SearchStrategy[Value] = st.recursive(
    atoms,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(Set), functions(inner)),
    max_leaves=8,
)

states = mappings(names, values, min_size=1)
