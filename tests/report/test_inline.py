import re

from metagcd.report.figures import Curve, curve_figure, svg_text
from metagcd.report.inline import inline_svg
from metagcd.report.strokes import INK


def drawn(label="frozen"):
    curve = Curve(label=label, x=(0, 1), mean=(1.0, 2.0), spread=(0.1, 0.1))
    return svg_text(curve_figure([curve], xlabel="threshold", ylabel="accuracy"))


def test_an_inlined_figure_is_one_element_without_addresses_or_ink_of_its_own():
    text = inline_svg(drawn(), prefix="a", label="A figure")
    assert text.startswith('<svg role="img" aria-label="A figure"')
    assert text.rstrip().endswith("</svg>")
    assert "http" not in text
    assert INK not in text
    assert "currentColor" in text


def test_two_inlined_figures_share_no_id():
    ids = [set(re.findall(r'\bid="([^"]+)"', inline_svg(drawn(), prefix=prefix, label=""))) for prefix in "ab"]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_every_reference_inside_has_its_target():
    text = inline_svg(drawn(), prefix="a", label="")
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= ids


def test_text_that_looks_like_markup_stays_text():
    text = inline_svg(drawn('<script>alert("x")</script>'), prefix="a", label='"><script>')
    assert "<script" not in text
