import pytest

from metagcd.errors import InputError
from metagcd.experiment.config import RunConfig
from metagcd.methods.frozen import FrozenConfig


@pytest.mark.parametrize("seeds", [(), (1, 1), (0, -1)])
def test_seeds_that_name_no_set_of_repetitions_are_refused(seeds):
    with pytest.raises(InputError, match="`seeds` must be different numbers of 0 or more"):
        RunConfig(seeds=seeds)


def test_the_title_is_method_and_source():
    assert RunConfig().title == "gcd-digits"
    assert RunConfig(method=FrozenConfig()).title == "frozen-digits"
