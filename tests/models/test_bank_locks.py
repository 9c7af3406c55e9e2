import shutil
import threading

from metagcd.models.bank_locks import in_use, locked, unused


def test_a_lock_lets_one_in_at_a_time_and_says_that_the_other_waits(tmp_path):
    order, waits = [], threading.Event()

    def second():
        with locked(tmp_path / "a" / "file", waiting=waits.set):
            order.append("second")

    with locked(tmp_path / "a" / "file", waiting=lambda: order.append("never")):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_several_may_use_a_folder_and_nobody_removes_it_meanwhile(tmp_path):
    with in_use(tmp_path / "a"), in_use(tmp_path / "a"), unused(tmp_path / "a") as free:
        assert not free
    with unused(tmp_path / "a") as free:
        assert free


def test_a_folder_that_is_not_there_is_not_free(tmp_path):
    with unused(tmp_path / "none") as free:
        assert not free


def test_a_folder_that_is_removed_while_one_waits_for_it_is_made_again(tmp_path):
    entered = threading.Event()

    def use():
        with in_use(tmp_path / "a"):
            entered.set()

    (tmp_path / "a").mkdir()
    with unused(tmp_path / "a") as free:
        assert free
        thread = threading.Thread(target=use)
        thread.start()
        assert not entered.wait(0.1)
        shutil.rmtree(tmp_path / "a")
    assert entered.wait(10)
    thread.join(10)
    assert (tmp_path / "a" / "lock").exists()
