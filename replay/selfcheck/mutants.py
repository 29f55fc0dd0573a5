"""The mutants of the harness, by operator: what each operator of `mbt selfcheck` replaces.

A mutant is made by putting something else in the place of an attribute of a module or a class of
the harness, or by an adapter with something broken (`replay.selfcheck.mutated`). The code
that it is made of holds no hook for it.
"""

from __future__ import annotations

from replay.selfcheck import mutants_judging as judging
from replay.selfcheck import mutants_walking as walking
from replay.selfcheck.mutant import Mutant

MUTANTS: dict[str, Mutant] = {
    "lose every second row": Mutant(form="every_second_lost"),
    "lose recovered effects": Mutant(form="recovered_lost"),
    "write rows twice": Mutant(form="twice"),
    "state as the oracle": Mutant(walking.state_as_oracle),
    "charge branches to the primary": Mutant(walking.charge_branches),
    "believe the fork's argument": Mutant(walking.believe_argument),
    "swap two observations": Mutant(walking.of_records(walking.swapped)),
    "observe before the step": Mutant(walking.of_records(walking.late)),
    "one digest for all stores": Mutant(form="one_digest"),
    "a digest for each look": Mutant(form="a_digest_each"),
    "current frontier": Mutant(walking.current_frontier),
    "fork with the consumed value": Mutant(walking.fork_with_the_consumed),
    "crash without a crash": Mutant(walking.no_crash),
    "a kill that does not kill": Mutant(walking.no_kill),
    "kill late": Mutant(walking.kill_late),
    "no catch-up": Mutant(walking.no_catch_up),
    "no drain": Mutant(walking.no_drain),
    "forget the poison": Mutant(walking.no_poison),
    "second consumer not held": Mutant(form="second_unheld"),
    "first consumer not held": Mutant(form="first_unheld"),
    "leave out the effects": Mutant(judging.without_effects, walks=False),
    "forget the way": Mutant(judging.from_any_state, walks=False),
    "never diverge": Mutant(judging.never_diverging, walks=False),
    "drop the second answer": Mutant(walking.of_records(walking.unanswered)),
    "fill in what is unobserved": Mutant(walking.of_records(walking.filled)),
    "always refusable": Mutant(judging.always_refusable, walks=False),
    "explain the first run": Mutant(judging.first_run_alone, walks=False),
    "believe -continue": Mutant(judging.of_verdicts(judging.first_alone), walks=False),
    'believe "no error"': Mutant(judging.of_verdicts(judging.no_error), walks=False),
    "always provoked": Mutant(judging.of_verdicts(judging.always_provoked), walks=False),
    "never provoked": Mutant(judging.of_verdicts(judging.never_provoked), walks=False),
    "judge what was not observed": Mutant(judging.judge_unobserved, walks=False),
    "lose the first state": Mutant(judging.first_state_lost, walks=False),
    "lose the last state": Mutant(judging.last_states_lost, walks=False),
    "an old result": Mutant(judging.old_result, walks=False),
    "a tour with a hole": Mutant(judging.hole_in_the_tour, walks=False),
}
"""Operator -> how it is applied; what it breaks, and what it must change, is in selfcheck.toml."""
