from metagcd.report.words import plain, short


def test_a_long_name_keeps_beginning_and_end():
    assert short("Black footed Albatross 001", 9) == "Blac…001"
    assert short("  two \n words ") == "two words"


def test_no_name_is_taken_for_a_formula():
    assert plain("$x$") == r"\$x\$"
    assert short("$x$") == r"\$x\$"
