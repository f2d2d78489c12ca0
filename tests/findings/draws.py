# SPDX-License-Identifier: MIT
"""The verdict on draws itself: what fails once in a long while is said and passes, what fails often does not."""

import random

from findings._shapes import Unsteady, judge


class Rule:
    """Fails where `is_wrong(seed, n)` says so, n being how often it was asked."""

    def __init__(self, is_wrong):
        self.is_wrong, self.n_asked, self.said = is_wrong, 0, []

    def attempt(self, seed):
        self.n_asked += 1
        assert not self.is_wrong(seed, self.n_asked), f"wrong, seed {seed}"

    def passes(self, n_draws, unsteady=None):
        try:
            judge(self.attempt, [random.randrange(1 << 30) for _ in range(n_draws)], self.said.append, unsteady or Unsteady())
            return True
        except AssertionError:
            return False


def n_passed(is_wrong, n_draws, n_times=2000):
    return sum(Rule(is_wrong).passes(n_draws) for _ in range(n_times))


def test_a_rule_that_is_right_passes(t):
    rule = Rule(lambda seed, n: False)
    assert rule.passes(20) and rule.n_asked == 20 and not rule.said, (rule.n_asked, rule.said)


def test_a_rule_that_never_says_its_finding_fails(t):
    assert n_passed(lambda seed, n: True, 1) == 0


def test_a_rule_that_is_wrong_about_half_the_draws_fails_by_each_of_them(t):
    for _ in range(200):
        rule = Rule(lambda seed, n: seed % 2)
        seed = random.randrange(1 << 29) * 2 + 1
        try:
            judge(rule.attempt, [seed], rule.said.append, Unsteady())
        except AssertionError as e:
            assert f"wrong, seed {seed}\nagain: wrong, seed {seed}" in str(e), e
            continue
        raise AssertionError(f"seed {seed} passed")


def test_a_rule_that_is_wrong_half_the_time_fails_nearly_always(t):
    passed = n_passed(lambda seed, n: random.random() < 0.5, 20)
    assert passed <= 2, f"{passed} of 2,000 passed"  # 0.02 are to be expected
    caught = sum(not Rule(lambda seed, n: n == 1 or random.random() < 0.5).passes(1) for _ in range(2000))
    assert caught >= 1600, f"{caught} of 2,000 failures were believed"  # 1,750


def test_a_draw_that_fails_once_is_said_with_its_seed_and_counted(t):
    unsteady = Unsteady()
    rule = Rule(lambda seed, n: n == 1)
    assert rule.passes(1, unsteady) and rule.n_asked == 4, rule.n_asked
    assert len(rule.said) == 1 and "wrong, seed" in rule.said[0], rule.said
    assert (unsteady.n_draws, unsteady.n_unsteady) == (4, 1)


def test_a_second_unsteady_draw_fails(t):
    unsteady = Unsteady()
    assert Rule(lambda seed, n: n == 1).passes(1, unsteady)
    assert not Rule(lambda seed, n: n == 1).passes(1, unsteady)
    many = Unsteady()
    many.n_draws = 5000
    assert all(Rule(lambda seed, n: n == 1).passes(1, many) for _ in range(6))
    assert not Rule(lambda seed, n: n == 1).passes(1, many)
