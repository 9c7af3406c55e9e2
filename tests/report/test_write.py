import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from report.cases import Made, images, made

from metagcd.errors import InputError
from metagcd.protocol import ProtocolSpec
from metagcd.report import write_report

CHROMIUM = Path("/usr/bin/chromium")
NAMES = Made().names


def test_one_file_is_written_and_its_path_returned(tmp_path):
    run = made(tmp_path / "run")
    page = write_report([run], tmp_path / "out" / "report.html")
    assert page == tmp_path / "out" / "report.html"
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]


def test_the_page_points_at_nothing_outside_itself(tmp_path):
    made(tmp_path / "run", Made(features=True))
    text = write_report([tmp_path / "run"], tmp_path / "report.html", data=images(NAMES)).read_text(encoding="utf-8")
    targets = re.findall(r"""\b(?:src|href|action|srcset|poster|data)\s*=\s*["']?([^"'\s>]*)""", text)
    assert targets
    assert all(target.startswith(("#", "data:")) for target in targets)
    assert not re.search(r"https?:|@import|<script|<link rel=.stylesheet", text)
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", text))


def test_every_link_inside_the_page_has_its_target(tmp_path):
    made(tmp_path / "run", Made(features=True))
    text = write_report([tmp_path / "run"], tmp_path / "report.html", data=images(NAMES)).read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_the_same_runs_give_the_same_bytes(tmp_path):
    made(tmp_path / "run", Made(features=True))
    pages = [write_report([tmp_path / "run"], tmp_path / f"{name}.html", data=images(NAMES)) for name in "ab"]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_page_about_many_classes_stays_small(tmp_path):
    names = tuple(f"class {place}" for place in range(100))
    spec = ProtocolSpec(known=80, novel=(10, 10), novel_images=(40,), known_images=(80,), labelled_fraction=0.5)
    made(tmp_path / "run", Made(names=names, spec=spec, seeds=(0,)))
    page = write_report([tmp_path / "run"], tmp_path / "report.html", data=images(names))
    assert page.stat().st_size < 1_000_000


def test_a_path_without_a_run_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        write_report([tmp_path / "nowhere"], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_images_of_no_run_are_refused(tmp_path):
    made(tmp_path / "run")
    with pytest.raises(InputError, match="not those of any"):
        write_report([tmp_path / "run"], tmp_path / "report.html", data=replace(images(NAMES), fingerprint="0"))


def test_the_report_needs_no_torch():
    code = "import sys, metagcd.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_opens_without_complaint_and_without_sideways_scrolling(tmp_path, scheme, width):
    from playwright.sync_api import sync_playwright

    names = ("ant", "b" * 200, "cat", "<script>alert(1)</script>", "elk")
    made(tmp_path / "run", Made(names=names, features=True))
    page = write_report([tmp_path / "run"], tmp_path / "report.html", data=images(names))
    complaints: list[str] = []
    asked: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        tab = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        tab.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        overflow = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        browser.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert overflow <= 0
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")
