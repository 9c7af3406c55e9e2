import pytest
from workspace import small


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    """A workspace after one session that was told of one new class."""
    folder = tmp_path_factory.mktemp("exporting")
    workspace = small.fitted(folder)
    workspace.discover(small.batch(folder / "batch", {"ant": 6, "bee": 6, "wasp": 12}), n_novel=1)
    return workspace
