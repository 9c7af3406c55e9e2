from metagcd.errors import InputError, unknown_name


def test_an_unknown_name_is_told_with_the_nearest_right_one_and_all_there_are():
    error = unknown_name("method", "metagdc", ["gcd", "metagcd", "frozen"])
    assert str(error) == "Unknown method `metagdc`. Did you mean `metagcd`? There are: frozen, gcd, metagcd."


def test_nothing_is_guessed_where_nothing_is_near():
    assert str(unknown_name("key", "zzz", ["rate"])) == "Unknown key `zzz`. There are: rate."
    assert str(unknown_name("key", "zzz", [])) == "Unknown key `zzz`. There are: none."


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)
