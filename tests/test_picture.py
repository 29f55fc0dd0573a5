"""Pictures of state graphs: where states stand, what the files are, what is refused."""

import itertools
import json
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pydot
import pytest
from graphs import SPECS, numbered, resume_graph
from hypothesis import given
from test_cover import graphs

from mbt.cli import main
from mbt.coverage import coverage_of
from tracegen import picture
from tracegen.errors import MachineryError, MbtError
from tracegen.layout import layered
from tracegen.picture import Coverage, dot_text, draw, picture_of
from tracegen.spec import load_spec

RESUME = SPECS / "ResumeContract.tla"
RECEIPTS = SPECS.parent / "receipts" / "ResumeContract"


# --- layout


def breadth_first(graph):
    """Steps from the initial states, by hand."""
    depth = dict.fromkeys(graph.initial, 0)
    queue = list(graph.initial)
    for state in queue:
        for edge in graph.out(state):
            if edge.target not in depth:
                depth[edge.target] = depth[state] + 1
                queue.append(edge.target)
    return depth


def crossings(graph, layers):
    """Pairs of edges from a layer to the next that cross, by trying all pairs."""
    place = {state: (y, x) for y, layer in enumerate(layers) for x, state in enumerate(layer)}
    down = [
        (place[e.source], place[e.target])
        for e in graph.edges
        if place[e.target][0] == place[e.source][0] + 1
    ]
    return sum(
        a[0][0] == b[0][0] and (a[0][1] - b[0][1]) * (a[1][1] - b[1][1]) < 0
        for a, b in itertools.combinations(down, 2)
    )


def connected(graph):
    return len(breadth_first(graph)) == len(graph)


@given(graphs.filter(connected))
def test_every_state_stands_once_in_the_layer_of_its_distance(graph):
    layout = layered(graph)
    assert Counter(itertools.chain(*layout.layers)) == Counter(range(len(graph)))
    for level, layer in enumerate(layout.layers):
        assert {breadth_first(graph)[state] for state in layer} == {level}
    assert len(set(layout.places.values())) == len(graph)
    assert layout.crossings == crossings(graph, layout.layers)
    assert layout.crossings <= crossings(graph, [sorted(layer) for layer in layout.layers])
    assert layered(graph) == layout


def test_crossings_become_fewer():
    # Two ladders whose rungs cross in the order of the numbers: 0 -> 1, 2; 1 -> 4, 2 -> 3.
    graph = numbered([(0, "A", 1), (0, "A", 2), (1, "A", 4), (2, "A", 3)])
    assert crossings(graph, [[0], [1, 2], [3, 4]]) == 1
    assert layered(graph).crossings == 0


def test_the_layers_of_the_resume_contract():
    layout = layered(resume_graph())
    # The diameter is 7 (TLC's depth 8), and 59 states are distinct.
    assert len(layout.layers) == 8
    assert sum(map(len, layout.layers)) == 59
    assert layout.layers[0] == (0,)


# --- what is drawn


def test_actions_have_colours_of_their_own():
    drawn = picture_of(resume_graph(), "R0")
    assert len(drawn.pens) == 86
    assert len({(pen.colour, pen.line) for pen in drawn.legend.values()}) == 6
    assert "ForkResume (36)" in drawn.legend
    # 12 states end every run; see the terminal states that `mbt graph` counts.
    assert all(not resume_graph().out(state) for state in drawn.terminal)
    assert len(drawn.terminal) == sum(not resume_graph().out(s) for s in range(59))


def test_colours_run_out_before_pens_do():
    graph = numbered([(0, f"A{n:02}", 1) for n in range(24)])
    pens = picture_of(graph, "many").legend.values()
    assert len({(pen.colour, pen.line) for pen in pens}) == 24


def test_coverage_has_three_pens_and_a_divergence_goes_first():
    graph = numbered([(0, "A", 1), (0, "B", 1), (1, "C", 0)])
    drawn = picture_of(graph, "x", Coverage(frozenset({0, 1}), frozenset({1})))
    assert list(drawn.legend) == ["covered (1)", "not covered (1)", "diverged there (1)"]
    assert len({pen.colour for pen in drawn.pens.values()}) == 3


def test_above_a_size_a_picture_is_refused_with_advice():
    graph = numbered([(n, "A", n + 1) for n in range(picture.MOST_STATES)])
    with pytest.raises(MbtError, match=r"301 states could not be read \(at most 300\).*smaller"):
        picture_of(graph, "chain")
    assert picture_of(numbered([(n, "A", n + 1) for n in range(299)]), "chain")


HOSTILE = ['A"];evil[label="', "B\\", 'C\\"', "D -> E; {", "<b>F</b>", "G\nH", "$x^2$", "ü\\N"]


def test_dot_text_quotes_what_names_hold():
    graph = numbered([(0, name, 1) for name in HOSTILE])
    drawn = picture_of(graph, 'title "];evil')
    (read,) = pydot.graph_from_dot_data(dot_text(drawn))
    assert sorted(node.get_name() for node in read.get_nodes()) == ["0", "1", "edge", "node"]
    assert len(read.get_edges()) == len(HOSTILE)
    (legend,) = read.get_subgraphs()[-1:]
    assert len(legend.get_edges()) == len(HOSTILE)
    assert len(read.get_subgraphs()) == 2  # the rank of the initial states, and the legend


# --- files


@pytest.fixture
def no_dot(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)


def valid(path):
    data = path.read_bytes()
    match path.suffix:
        case ".svg":
            return ElementTree.fromstring(data).tag == "{http://www.w3.org/2000/svg}svg"
        case ".png":
            return data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
        case ".pdf":
            return data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_by_matplotlib(no_dot, tmp_path, kind):
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    assert draw(picture_of(resume_graph(), "R0"), first) == "matplotlib"
    assert valid(first)
    draw(picture_of(resume_graph(), "R0"), second)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"a.{kind}", f"b.{kind}"]


def test_by_matplotlib_every_state_is_there(no_dot, tmp_path):
    graph = numbered([(0, "A", 1), (0, "B", 1), (1, "C", 1), (1, "D", 0), *(
        (1, name, 2) for name in HOSTILE
    )])  # fmt: skip
    file = tmp_path / "small.svg"
    draw(picture_of(graph, "$a$ & <b>"), file)
    texts = [node.text for node in ElementTree.fromstring(file.read_bytes()).iter() if node.text]
    assert {"0", "1", "2", "$a$ & <b>", "C (1)", "$x^2$ (1)"} <= set(texts)


STAND_IN = """#!{python}
import sys
text = sys.stdin.read()
assert sys.argv[1:] == ["-Tsvg"] and text.startswith("digraph {{"), (sys.argv, text)
{end}
"""


@pytest.fixture
def stand_in_for_dot(tmp_path, monkeypatch):
    """A program called dot that only looks at how it is called: Graphviz may not be here."""

    def put(end="print('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"):
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "dot"
        program.write_text(STAND_IN.format(python=sys.executable, end=end))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return put


def test_by_dot_where_it_is(stand_in_for_dot, tmp_path):
    stand_in_for_dot()
    file = tmp_path / "graph.svg"
    assert draw(picture_of(resume_graph(), "R0"), file) == "dot"
    assert valid(file)


def test_a_dot_that_fails_is_the_machinery(stand_in_for_dot, tmp_path):
    stand_in_for_dot("sys.exit('syntax error in line 1')")
    file = tmp_path / "graph.svg"
    with pytest.raises(MachineryError, match="ended with 1: syntax error in line 1"):
        draw(picture_of(resume_graph(), "R0"), file)
    assert not file.exists()


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz here")
def test_by_the_real_dot(tmp_path):
    graph = numbered([(0, name, 1) for name in HOSTILE])
    file = tmp_path / "hostile.svg"
    assert draw(picture_of(graph, "hostile"), file) == "dot"
    texts = {node.text for node in ElementTree.fromstring(file.read_bytes()).iter() if node.text}
    assert {"0", "1", 'A"];evil[label=" (1)', "ü\\N (1)", "<b>F</b> (1)"} <= texts


def test_a_kind_of_file_that_is_none(no_dot, tmp_path):
    with pytest.raises(MbtError, match=r"x.gif: name a picture .svg, .png or .pdf"):
        draw(picture_of(numbered([(0, "A", 1)]), "x"), tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(stand_in_for_dot, tmp_path):
    stand_in_for_dot()
    with pytest.raises(MbtError, match="cannot write"):
        draw(picture_of(numbered([(0, "A", 1)]), "x"), tmp_path / "no" / "x.svg")


# --- what a replay covered


@pytest.mark.parametrize(
    ("receipt", "covered", "diverged"),
    [
        # The reference takes all 86 transitions. CrewAI replays: each of the 7 transitions of
        # CrashRecover is where a run of its diverges.
        ("reference/default", 86, 0),
        ("crewai/default", 28, 7),
    ],
)
def test_coverage_is_read_from_receipts(receipt, covered, diverged):
    spec = load_spec(RESUME)
    graph = resume_graph()
    found = coverage_of(RECEIPTS / receipt, spec, "R0", graph)
    assert len(found.covered) == covered
    assert len(found.diverged) == diverged
    assert {graph.edges[e].action for e in found.diverged} <= {"CrashRecover"}
    assert not found.covered & found.diverged


@pytest.fixture
def receipt(tmp_path):
    folder = tmp_path / "receipt"
    shutil.copytree(RECEIPTS / "reference" / "default", folder)
    return folder


def changed(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "receipt.json").unlink(), "receipt.json: cannot be read"),
        (lambda f: (f / "receipt.json").write_text("{"), "receipt.json: not JSON"),
        (lambda f: (f / "receipt.json").write_text("[]"), "not a receipt of this version"),
        (lambda f: (f / "receipt.json").write_text("{}"), "not a receipt of this version"),
        (lambda f: changed(f / "receipt.json", lambda d: d.update(module="X")), "a replay of X"),
        (lambda f: (f / "runs.jsonl").write_text(""), "cover 0 transitions, its receipt says 86"),
        (lambda f: (f / "runs.jsonl").write_text("{}\n"), "not a receipt of this version"),
        (lambda f: (f / "runs.jsonl").write_text("\n"), "runs.jsonl:1: not JSON"),
        (lambda f: (f / "runs.jsonl").write_bytes(b"\xff"), "runs.jsonl: cannot be read"),
        (
            lambda f: changed(f / "receipt.json", lambda d: d["parts"][0].update(graph="0" * 64)),
            "another state graph",
        ),
    ],
)
def test_a_receipt_that_is_none(receipt, spoil, said):
    spoil(receipt)
    with pytest.raises(MbtError, match=said):
        coverage_of(receipt, load_spec(RESUME), "R0", resume_graph())


def test_a_model_that_was_not_replayed():
    with pytest.raises(MbtError, match="nothing was replayed of model R6, but of R0, R0C2, R3"):
        coverage_of(RECEIPTS / "reference" / "default", load_spec(RESUME), "R6", resume_graph())


def test_an_adapter_in_a_file_is_not_run(receipt, tmp_path):
    file = tmp_path / "trap.py"
    file.write_text("raise SystemExit('executed')\n")
    changed(receipt / "receipt.json", lambda d: d.update(adapter=f"{file}:Trap"))
    # The reference takes no actions in one go, so what it covered comes out all the same.
    assert len(coverage_of(receipt, load_spec(RESUME), "R0", resume_graph()).covered) == 86


def test_the_command(capsys, tmp_path, stand_in_for_dot):
    stand_in_for_dot()
    file = tmp_path / "r0.svg"
    words = ["graph", str(RESUME), "--model", "R0", "--picture", str(file)]
    words += ["--replay", str(RECEIPTS / "crewai" / "default"), "--json"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["transitions"], facts["covered"], facts["diverged_at"]) == (86, 28, 7)
    assert facts["picture"] == {"file": str(file), "drawn_by": "dot"}
    assert valid(file)
