import pytest

from metagcd.config import from_mapping, from_toml, to_mapping, to_toml
from metagcd.errors import InputError
from metagcd.protocol import ProtocolSpec


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"known": 0}, "`known` must be at least 1"),
        ({"novel": ()}, "`novel` must be"),
        ({"novel": (1, -1)}, "`novel` must be"),
        ({"labelled_fraction": 0.0}, r"`labelled_fraction` must be in \(0, 1\]; got 0.0"),
        ({"labelled_fraction": 1.5}, r"`labelled_fraction` must be in \(0, 1\]; got 1.5"),
        ({"labelled_fraction": float("nan")}, "`labelled_fraction`"),
        ({"imbalance": 0.5}, "`imbalance` must be 1 or more"),
        ({"novel_images": (5, 5)}, "`novel_images` must be one value, or one for each of the 3 sessions"),
        ({"known_images": ()}, "`known_images` must be one value"),
        ({"known_images": (-1,)}, "`known_images` must be counts of 0 or more"),
        ({"discovered_images": (1, 2)}, "`discovered_images` must be one value"),
    ],
)
def test_what_no_data_set_could_satisfy_is_refused_by_the_name_of_its_field(values, message):
    with pytest.raises(InputError, match=message):
        ProtocolSpec(**values)


def test_a_single_count_holds_for_every_session_and_several_for_one_each():
    spec = ProtocolSpec(novel=(1, 2), novel_images=(7,), known_images=(3, 4))
    assert [spec.count("novel_images", t) for t in range(2)] == [7, 7]
    assert [spec.count("known_images", t) for t in range(2)] == [3, 4]
    assert spec.classes == 10


@pytest.mark.parametrize("order", ["natural", "seeded", (3, 1, 2)])
def test_toml_gives_back_an_equal_specification(order):
    spec = ProtocolSpec(known=1, novel=(1, 0), class_order=order, discovered_images=(0, 2), redraw=True)
    assert from_toml(ProtocolSpec(), to_toml(spec)) == spec
    assert from_mapping(ProtocolSpec(), to_mapping(spec)) == spec


def test_an_unknown_class_order_is_refused():
    with pytest.raises(InputError, match="class_order"):
        from_mapping(ProtocolSpec(), {"class_order": "random"})
